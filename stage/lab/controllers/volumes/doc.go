// Package volumes has the controllers of PersistentVolumeClaims and PersistentVolumes. They bind
// claims to volumes, provision, grow and delete volumes, create the claims of ephemeral volumes, and
// keep claims and volumes while they are in use.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All.
//
// # Determinism
//
// Nothing is drawn at random. Among volumes of the same size, the first by name is bound.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package volumes
