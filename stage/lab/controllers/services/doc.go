// Package services has the controllers of Services: one that gives them addresses, and one that
// lists their Pods in EndpointSlices and Endpoints. Node ports are allocated by package
// stage/lab/controllers/admission.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All.
//
// # Determinism
//
// The addresses depend on the names of the Services and on their order only.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package services
