// Package v1alpha1 has the Stage API of kwok.x-k8s.io/v1alpha1 as Go types. It has only the field
// names, JSON tags and defaults of kwok v0.8. Package stage reads and compiles the types.
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
