// Package quota has what Kubernetes does for ResourceQuotas.
//
//	Admit           refuses what exceeds a quota, within the write
//	ResourceQuotas  the controller that counts what is used
//
// # Usage
//
// controllers.All has the controller, and package admission has Admit among the others that an API
// server runs:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(admission.Hooks())
//
// # Determinism
//
// Nothing is drawn at random. Quotas are looked at in the order of their names.
//
// # Concurrency
//
// Admit is called with the cluster locked. The controller belongs to one loop.
//
// # Compatibility
//
// Errors and usage are those of Kubernetes 1.36; the recording quota in package stage/lab/controllers is
// compared. What differs:
//
//	Kubernetes does                     | these do                       | why
//	------------------------------------+--------------------------------+----------------------
//	count all kinds, custom ones too    | count Pods, Services, claims,  | a controller watches
//	                                    | ConfigMaps, Secrets and        | kinds that it knows
//	                                    | workloads; others when one     |
//	                                    | more is created                |
//	recount each 5 minutes              | do not                         | nothing gets lost
package quota
