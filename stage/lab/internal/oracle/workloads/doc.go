// Package workloads plays random scenarios twice, with the same Stages: with unmodified controllers
// of kube-controller-manager, in virtual time on a stage/memory cluster, and with our controllers.
// It compares all objects every half second, including Events.
//
//	make oracle SCENARIOS=10000
//
// The tests play 50 of them. Those of one kind:
//
//	go test ./workloads -run TestScenarios -kinds DaemonSet
//
// The test shrinks a scenario in which they differ until nothing can be left out. Names that are
// made of hashes are ours in both: the client of the Kubernetes controllers translates them, so
// that generated names, uids and the orders that depend on them are the same.
package workloads
