// Package defaults writes what kube-apiserver 1.36 fills in, as data for package stage/lab/internal/builtin, and
// compares that package with the functions of Kubernetes on random objects.
package defaults
