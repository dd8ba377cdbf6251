// Package quota does what Kubernetes does for ResourceQuotas.
//
//	Admit           refuses what exceeds a quota, within the write
//	ResourceQuotas  the controller that counts what is used
//	Complete        counts objects of kinds that the controller does not watch, as its status is written
//	Refund          counts them again when an object is removed
//
// # Usage
//
// controllers.All has the controller. Package admission has Admit, Complete and Refund, together with
// the other checks of an API server:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(admission.Hooks())
//
// # Determinism
//
// Nothing is drawn at random. Quotas are checked in the order of their names.
//
// # Concurrency
//
// Admit, Complete and Refund are called while the cluster is locked. The controller belongs to one
// loop.
//
// # Compatibility
//
// Errors and usage are those of Kubernetes 1.36. Package stage/lab/controllers compares them with
// the recording quota. What differs:
//
//	Kubernetes does                     | these do                       | why
//	------------------------------------+--------------------------------+----------------------
//	watch the objects of all kinds      | watch Pods, Services, claims,  | a controller watches
//	                                    | ConfigMaps, Secrets and        | kinds that it knows
//	                                    | workloads; the write that      |
//	                                    | removes another object counts  |
//	recount each 5 minutes              | do not                         | nothing gets lost
package quota
