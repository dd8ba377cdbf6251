// Package services has three controllers of Services: one gives them addresses, one lists their
// Pods in EndpointSlices and Endpoints, and one copies the Endpoints of users into EndpointSlices. Package stage/lab/controllers/admission allocates node
// ports.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All.
//
// # Determinism
//
// The addresses depend only on the names of the Services and on their order.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package services
