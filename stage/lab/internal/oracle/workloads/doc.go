// Package workloads plays random scenarios with the controllers of kube-controller-manager, which
// run unmodified in virtual time on a stage/memory cluster, and with ours, with the same Stages, and
// compares all objects every half second, Events included.
//
//	make oracle SCENARIOS=10000
//
// The tests play 50 of them. Those of one kind:
//
//	go test ./workloads -run TestScenarios -kinds DaemonSet
//
// A scenario in which they differ is made smaller until nothing can be left out. Names that are
// made of hashes are ours in both: the client of the Kubernetes controllers translates them, so
// that generated names, uids and the orders that depend on them are the same.
package workloads
