// Package oracle plays each scenario twice: with the unmodified controllers of
// kube-controller-manager, in virtual time in a testing/synctest bubble, and with our controllers.
// It compares what happens to Nodes and Pods, time by time. In this package and those below it,
// "theirs" is Kubernetes and "ours" is this module.
//
// The scenarios with names, and a few random ones, are tests. More:
//
//	make oracle-nodes SCENARIOS=1000
//
// Periods are chosen so that passes of different controllers never fall on one instant: which comes
// first is then decided by the Go scheduler. The order in which Nodes of a zone are tainted that
// fail at the same time is random in Kubernetes: ours has to match for one order of their names.
package oracle
