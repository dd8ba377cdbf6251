// Package kstatustest gives objects the status that their controllers would have written, and tells what a status lacks: for tests of
// controllers that make objects and wait for them, where nothing else plays the other controllers.
//
// # Usage
//
//	err := kstatustest.MakeCurrent(deployment) // *appsv1.Deployment, *unstructured.Unstructured, …
//	err = client.Status().Update(ctx, deployment)
//
// and, of what a test has made by itself:
//
//	kstatustest.RequireCurrent(t, deployment)
//
// Where a test needs the life of an object and not one state of it, package stage/stagetest plays it.
//
// # What is written
//
// The status, with the fields, conditions, reasons and messages of Kubernetes 1.36, in a form that its API server accepts: counts, observedGeneration,
// revisions, and a start and an end where it asks for both. What the status has beside these stays, and so do the times of conditions that
// keep their status. Other fields are written in three cases, where an API server would have filled them in and no verdict can do without:
// metadata.generation, spec.clusterIP and, of a Pod, status.qosClass.
//
// A custom kind gets the conditions that it has, each with the status that stands for success, or Ready; if that is not enough to be
// Current by the rules of package kstatus, a phase or the conditions of its family. An error says that nothing did.
//
// # Determinism
//
// The same object, state and options give the same status; times are those of [Options.Now].
//
// # Concurrency
//
// Functions may be called from several goroutines at once, each with an object of its own.
package kstatustest
