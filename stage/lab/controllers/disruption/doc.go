// Package disruption has the controllers that decide how many Pods may be evicted.
//
//	Budgets       writes the status of PodDisruptionBudgets
//	StalePods     takes back DisruptionTarget of Pods that nobody deleted
//
// # Terminology
//
// A budget is a PodDisruptionBudget. It expects as many Pods as the controllers of its Pods ask
// for. If its minAvailable is a number, it expects the existing Pods. Percentages are rounded up. A
// Pod is healthy if it is ready, is not being deleted, and is not about to be deleted.
//
// # Usage
//
// controllers.All has both. To evict a Pod, use [memory.Cluster.Evict], the subresource eviction of
// the fakes in stage/lab/fakes, or Evict and Drain of a labtest.Lab.
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
// Package stage/lab/controllers compares recordings of Kubernetes 1.36 (eviction, budget).
// stage/lab/internal/oracle/policies compares random scenarios with its controller. What differs:
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
