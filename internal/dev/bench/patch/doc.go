// Package patch compares package internal/patch with the libraries that the API server
// uses, and its merge-key table with the struct tags of k8s.io/api. It is in the
// module of the benchmarks, so that none of them becomes a dependency of stagecraft.
package patch
