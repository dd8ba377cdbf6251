// Package attributes describes the writes of a cluster in the form that the admission plugins of
// k8s.io/apiserver take.
package attributes
