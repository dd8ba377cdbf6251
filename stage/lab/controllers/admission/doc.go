// Package admission does what an API server does with objects before it stores them: the plugins of
// kube-apiserver that are on by default, and the allocations of its registries.
//
//	LimitRanges    defaults and bounds of what containers, Pods and claims ask for
//	Protect        finalizers of claims and volumes, which package volumes takes away
//	NodePorts      ports of Services of the types NodePort and LoadBalancer
//	DropFields     removes fields whose feature gate is off
//	quota.Admit    ResourceQuotas, see package quota
//	Plugins        PodSecurity, RuntimeClass, PodTopologyLabels, PersistentVolumeClaimResize and
//	               CertificateSubjectRestriction
//
// # Usage
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(admission.Plugins())
//	cluster.Extend(admission.Hooks())
//
// In a simulation, add them to simulation.Options.Hooks. A labtest.Lab always has them.
//
// # Determinism
//
// The port of a Service depends on the name of the Service; if that port is taken, it is the next
// free one. In Kubernetes the first try is random. LimitRanges are applied in the order of their
// names; Kubernetes applies them in any order.
//
// # Concurrency
//
// The functions are called while the cluster is locked. They have no state.
//
// # Compatibility
//
// Defaults, ports and errors are those of Kubernetes 1.36. Package stage/lab/controllers compares
// them with the recordings limits, nodeports, protection and statefulset-unavailable. What differs:
//
//	Kubernetes does                       | this does                  | why
//	--------------------------------------+----------------------------+------------------
//	report bounds in any order            | report them by name        | determinism
//	set priority and tolerations of Pods  | leave it to packages       | they have them
//	                                      | scheduling and nodes       |
package admission
