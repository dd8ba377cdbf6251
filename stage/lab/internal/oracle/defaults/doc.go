// Package defaults writes the defaults of kube-apiserver 1.36 as data for package
// stage/lab/internal/builtin. It also compares that package with the functions of Kubernetes on
// random objects.
package defaults
