// Package scheduler plays each scenario twice: with the unmodified kube-scheduler 1.36 and its
// queues, in virtual time in a testing/synctest bubble, and with our scheduler. It compares each
// attempt to schedule a Pod, in order: its time, the Node, the scores of each plugin or the
// message. It also compares what is written into Pods, such as nominated Nodes and the conditions
// of victims.
//
// A test plays a fixed number of random scenarios, and shrinks the first one that differs. More:
//
//	make oracle-scheduler SCENARIOS=1000
//
// A table lists the intended differences. Each of its rows must occur.
//
// Every Pod has its own start time, because kube-scheduler decides the last tie between candidates of
// preemption by the order of a Go map. It runs its filters one after another.
package scheduler
