// Package definitions applies CustomResourceDefinitions as kube-apiserver does. It prunes the
// objects of their kinds, fills in defaults, and validates the objects by the schema of their
// version, including CEL rules. Labs, hunts and the server of stage/lab/apiserver use it by
// default.
//
// # Usage
//
//	cluster.Extend(definitions.New(definitions.Options{}).Hooks())
//	cluster.Extend(definitions.Check())
//
// [Check] returns hooks that refuse a definition if a version has no structural schema. Package
// validity checks a whole definition, as kube-apiserver does.
//
// # Conversion
//
// Objects are stored in the storage version of their definition, and read in the version of the
// request. Between the two, [Options].Convert converts the objects of definitions with the strategy
// Webhook: a Go function in labs and hunts, and the webhook on the server of stage/lab/apiserver.
// The cluster calls it through memory.Hooks.Convert, without its lock. Admission, defaults, pruning
// and validation see objects in the version of the request.
//
// The packages below pkg/apiserver/schema and pkg/apiserver/validation of
// k8s.io/apiextensions-apiserver do the work. Its registries and handlers are not used, because
// they need the framework of k8s.io/apiserver.
//
// # Concurrency
//
// A schema is compiled when an object of its kind is written for the first time, and again after the
// definition has changed. An Index is safe for concurrent use; forks of a cluster share it.
package definitions
