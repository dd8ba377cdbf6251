// Package policies plays random scenarios twice: with unmodified controllers of
// kube-controller-manager, in virtual time on a stage/memory cluster, and with our controllers. The
// controllers are those of PodDisruptionBudgets, of ResourceQuotas, of the finalizers that protect
// claims and volumes, and the Pod garbage collector. It compares all objects every second, Events,
// and the answers to requests.
//
//	make oracle-policies SCENARIOS=1000
//
// The tests play a few of each. Those of one family:
//
//	go test ./policies -run TestScenarios/budgets
//
// Nothing but the controllers does anything by itself: Pods become ready, end and go as the steps of
// a scenario say.
package policies
