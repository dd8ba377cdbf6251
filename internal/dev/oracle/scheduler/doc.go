// Package scheduler lets the real kube-scheduler 1.36 and ours decide about the same Pods on the
// same random clusters, one Pod after another, and compares what they decide: the Node, the scores
// of each plugin, the message of a Pod that fits nowhere, the Node for which it preempts others, and
// those.
//
// A fixed number of scenarios is a test. More:
//
//	go test -run TestSameDecisions -scenarios 1000 ./scheduler
//
// Every Pod has its own start time, because kube-scheduler decides the last tie between candidates of
// preemption by the order of a Go map. It runs its filters one after another.
package scheduler
