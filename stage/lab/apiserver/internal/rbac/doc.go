// Package rbac decides by the roles of a cluster what users may do, as the authorizer RBAC of
// kube-apiserver 1.36 does, and keeps users from granting what they may not do themselves. Its texts are
// those of kube-apiserver. The authorizer itself is part of k8s.io/kubernetes, which a published module
// cannot require.
//
// # Determinism
//
// Bindings are read in the order of their names; kube-apiserver has no order. So the reason of a
// decision names the first binding that allows it.
//
// # Concurrency
//
// An Index is safe for concurrent use.
package rbac
