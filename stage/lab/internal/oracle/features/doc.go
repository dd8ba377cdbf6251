// Package features holds in its tests that package stage/lab/controllers/features is about every field
// of the kinds of Kubernetes 1.36.
package features
