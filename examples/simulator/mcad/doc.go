// Package mcad has small models of the queue and the gang scheduler of the KWOK/MCAD study, as
// controllers of package stage/reconcile. They do to Jobs what the Multi-Cluster App Dispatcher and
// the coscheduler do.
//
// # Terminology
//
// An AppWrapper (mcad.ibm.com/v1beta1) wraps objects that are created together when it is
// dispatched; a PodGroup (scheduling.x-k8s.io/v1alpha1) is a gang: Pods that are bound together or
// not at all.
//
// # Usage
//
//	sim, err := simulation.New(set, simulation.Options{
//		Kinds:       mcad.Kinds(),
//		Controllers: append(mcad.Queue(mcad.QueueOptions{}), mcad.Coscheduler(), batch.Jobs()),
//	})
//
// # Compatibility
//
// AppWrappers have the conditions of MCAD 1.3x in its order, with times in microseconds: Init,
// Queueing, HeadOfLine, Dispatched, Running, Completed or Failed. Queue and Coscheduler are models:
//
//	the real ones do                                  | these do
//	--------------------------------------------------+-----------------------------------------------------------------
//	take the head of the line back into the queue     | the head waits until it fits: nobody passes it
//	when it does not fit, after a holding time        |
//	preempt, have quotas and several clusters         | one cluster, no quota
//	give Pods of a gang a place each, and take it     | look for room for the whole gang first, in the order in which
//	back when the others time out                     | gangs were created; one that does not fit lets later ones pass
package mcad
