// Package client gives the programs of Kubernetes a stage/memory cluster: a client-go configuration
// whose requests go to the cluster and not to a server. The controllers of kube-controller-manager
// run on it unchanged, also in a testing/synctest bubble.
//
// It does what these controllers ask for: get, list, watch, create, update, patch, delete, and the
// subresource status. What comes before the storage of an API server, such as defaults, is a
// function of the caller.
package client
