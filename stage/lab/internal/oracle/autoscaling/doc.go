// Package autoscaling plays random scenarios twice: with the HorizontalPodAutoscaler controller of
// kube-controller-manager, in virtual time in a testing/synctest bubble, and with our controller.
// It compares replicas, the status of the autoscalers, and Events, time by time. More scenarios:
//
//	make oracle-autoscaling SCENARIOS=10000
package autoscaling
