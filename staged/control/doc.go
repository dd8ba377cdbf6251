// Package control holds the KubeStellar API of control.kubestellar.io/v1alpha1 as far as staged placement needs it: field names and JSON
// tags as KubeStellar v0.30 publishes them, and nothing else. Package staged/kubestellar computes with them.
//
// # Compatibility
//
// The clauses of a Binding for objects with and without namespace are one type, [DownsyncClause]; the JSON is the same.
//
// # Concurrency
//
// The types are plain data.
package control
