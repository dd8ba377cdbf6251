// Package transport has the requests of a cluster as interfaces. Players, controllers and waiters
// use them; package stage/memory and module stage/kube implement them.
//
// # Usage
//
// Your own client implements the requests that its user makes:
//
//	type myCluster struct{ … }                 // its methods are Get, List, Watch, Create, Patch, Delete
//	var _ transport.Transport = (*myCluster)(nil)
//	player, err := player.New(&myCluster{}, set, player.Options{})
//
// A wrapper embeds a Transport and changes one request, such as a Patch that is logged. A wrapper
// hides the optional interfaces of the Transport that it embeds, so that each request goes through
// the wrapper.
//
// # Errors
//
// Errors are the same as an API server's: the functions of k8s.io/apimachinery/pkg/api/errors tell
// them apart. Callers treat a panic in a method as a failed request. They do the same with an
// answer that is another object than the requested one: of another kind, namespace, name or uid.
//
// # Concurrency
//
// Implementations must be safe for concurrent use, and each request must return when its context
// ends.
package transport
