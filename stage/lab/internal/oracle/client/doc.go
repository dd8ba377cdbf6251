// Package client gives the programs of Kubernetes a stage/memory cluster: a client-go configuration
// whose requests go to the cluster and not to a server. The controllers of kube-controller-manager
// run on it unchanged, also in a testing/synctest bubble.
//
// It supports the requests of these controllers: get, list, watch, create, update, patch, delete,
// and the subresource status. The caller gives a function for the work of an API server before it
// stores an object, such as defaults.
package client
