// Package definitions applies CustomResourceDefinitions as kube-apiserver does: the objects of their
// kinds are pruned, filled in with defaults and validated by the schema of their version, rules in
// CEL included. Labs, hunts and the server of stage/lab/apiserver do so by default.
//
// # Usage
//
//	cluster.Extend(definitions.New().Hooks())
//	cluster.Extend(definitions.Check())
//
// The second hooks refuse a definition if a version has no structural schema, or if a webhook would
// have to convert its objects. Package validity checks a whole definition, as the server does.
//
// The work is done by k8s.io/apiextensions-apiserver, by the packages below pkg/apiserver/schema and
// pkg/apiserver/validation. Its registries and handlers are not used: they need the framework of
// k8s.io/apiserver.
//
// # Concurrency
//
// A schema is compiled when an object of its kind is written for the first time, and again after the
// definition has changed. An Index is safe for concurrent use; forks of a cluster share it.
package definitions
