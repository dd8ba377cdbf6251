// Package definitions carries out CustomResourceDefinitions as kube-apiserver does: a definition is
// validated, and the objects of its kinds are pruned, filled in with defaults and validated by the
// schema of their version, rules in CEL included.
//
// The work is done by k8s.io/apiextensions-apiserver, by the packages below pkg/apiserver/schema,
// pkg/apiserver/validation and pkg/apis/apiextensions/validation. Its registries and handlers are
// not used: they need the framework of k8s.io/apiserver.
//
// A schema is compiled when an object of its kind is written for the first time, and again when the
// definition has changed. An Index is safe for concurrent use; forks of a cluster share it.
package definitions
