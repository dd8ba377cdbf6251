// Package cron gives random CronJobs to our controller, with schedules, time zones and changes of
// clocks, and compares when it starts Jobs with what the schedules of robfig/cron v3 say, which is
// the library of kube-controller-manager. Schedules that cannot be read are compared by the texts of
// their Events. More CronJobs:
//
//	make oracle-cron SCENARIOS=10000
package cron
