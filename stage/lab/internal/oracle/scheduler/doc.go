// Package scheduler plays the same scenario with the real kube-scheduler 1.36, which runs unmodified
// with its queues in virtual time in a testing/synctest bubble, and with ours, and compares each
// attempt to schedule a Pod, in order: its time, the Node, the scores of each plugin or the message;
// and what is written into Pods, such as nominated Nodes and the conditions of victims.
//
// A fixed number of random scenarios is a test, which shrinks the first one that differs. More:
//
//	make oracle-scheduler SCENARIOS=1000
//
// The differences that are meant are in a table; each of its rows has to be met.
//
// Every Pod has its own start time, because kube-scheduler decides the last tie between candidates of
// preemption by the order of a Go map. It runs its filters one after another.
package scheduler
