// Package kube is a Kubernetes cluster as the packages of stagecraft see one: a transport over client-go's dynamic client, with the methods of
// stage/memory.
//
// # Terminology
//
// A [Cluster] is a client together with a mapper, which knows the resource and the scope of each kind.
//
// # Usage
//
//	cluster, err := kube.NewForConfig(config)
//	…
//	err = stage.Play(ctx, set, cluster, stage.PlayerOptions{})
//
// [New] takes any dynamic client, client-go's fake one too. Objects are *unstructured.Unstructured, and results belong to the caller. Errors are those
// of the API server, for the functions of apimachinery's api/errors; a kind that the server does not know is NotFound.
//
// A Cluster sends each request once and opens each watch once. Whoever calls it tries again: stage.Player does.
//
// # Concurrency
//
// A Cluster is safe for concurrent use if its client and mapper are; client-go's are.
package kube
