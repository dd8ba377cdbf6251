// Package admission has what an API server does with objects as it takes them: plug-ins of
// kube-apiserver that are on by default, and what its registries allocate.
//
//	LimitRanges    defaults and bounds of what containers, Pods and claims ask for
//	Protect        finalizers of claims and volumes, which package volumes takes away
//	NodePorts      ports of Services of the types NodePort and LoadBalancer
//	DropFields     removes fields whose feature gate is off
//	quota.Admit    ResourceQuotas, see package quota
//
// # Usage
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(admission.Hooks())
//
// A simulation has it by simulation.Options.Hooks, a labtest.Lab always.
//
// # Determinism
//
// A port is allocated by the name of its Service, and the next one if that is taken; in Kubernetes
// the first try is random. LimitRanges are applied in the order of their names, there in any order.
//
// # Concurrency
//
// The functions are called with the cluster locked. They have no state.
//
// # Compatibility
//
// Defaults, ports and errors are those of Kubernetes 1.36; the recordings limits, nodeports,
// protection and statefulset-unavailable in package stage/lab/controllers are compared. What differs:
//
//	Kubernetes does                       | this does                  | why
//	--------------------------------------+----------------------------+------------------
//	report bounds in any order            | report them by name        | determinism
//	set priority and tolerations of Pods  | leave it to packages       | they have them
//	                                      | scheduling and nodes       |
package admission
