// Package disruption has the controllers that say how many Pods may be evicted.
//
//	Budgets       writes the status of PodDisruptionBudgets
//	StalePods     takes back DisruptionTarget of Pods that nobody deleted
//
// # Terminology
//
// A budget is a PodDisruptionBudget. It expects as many Pods as the controllers of its Pods ask
// for; if its minAvailable is a number, it expects the Pods that there are. Percentages of that are
// rounded up. A Pod is healthy if it is ready, neither being deleted nor about to be.
//
// # Usage
//
// controllers.All has both. A Pod is evicted with [memory.Cluster.Evict], with the subresource
// eviction of the fakes in stage/lab/fakes, or with labtest.Lab.Evict and Drain.
//
// # Determinism
//
// Nothing is drawn at random.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// Recordings of Kubernetes 1.36 are compared in package stage/lab/controllers (eviction, budget), and its
// controller plays random scenarios in stage/lab/internal/oracle/policies. What differs:
//
//	Kubernetes does                        | these do                       | why
//	---------------------------------------+--------------------------------+-------------------------
//	update one of several budgets of a Pod | update all, without the Event  | it is any one there
//	                                       | MultiplePodDisruptionBudgets   |
//	ask custom controllers for their scale | say that they have none        | memory has no scale; the
//	                                       |                                | budget allows nothing
//	                                       |                                | and says SyncFailed
//	record Events                          | record them if Options.Events  |
//	                                       | of the loop says so            |
package disruption
