// Package control holds the API types of KubeStellar's group control.kubestellar.io/v1alpha1 that
// staged rollouts need: the fields and JSON tags of KubeStellar v0.30, and nothing else. Package
// staged/kubestellar computes with them.
//
// # Compatibility
//
// KubeStellar has two types for the clauses of a Binding, for objects with and without a namespace.
// Here both are [DownsyncClause]; the JSON is the same.
//
// # Concurrency
//
// The types are plain data.
package control
