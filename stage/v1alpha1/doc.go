// Package v1alpha1 holds the Stage API of kwok.x-k8s.io/v1alpha1 as Go types: field names, JSON
// tags and defaults as kwok v0.8 publishes them, and nothing else. Package stage reads and compiles
// them.
//
// # Compatibility
//
// Both generations of the API are here: the legacy fields (key/operator/values of a match
// expression, expressionFrom, next) and the newer ones (jq, cel, steps). Fields that tell "absent"
// from "empty" are pointers.
//
// # Concurrency
//
// The types are plain data.
package v1alpha1
