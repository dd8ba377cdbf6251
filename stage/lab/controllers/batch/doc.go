// Package batch has the controllers of Jobs and CronJobs, like those in kube-controller-manager.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All. A
// CronJob needs the controller of Jobs in addition to its own.
//
// # Determinism
//
// Nothing is drawn at random: a CronJob starts its Jobs at the second of its schedule.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package batch
