// Package difftest compares package patch with the libraries that the API server
// uses, and its merge-key table with the struct tags of k8s.io/api. It is a module of
// its own so that none of them becomes a dependency of stagecraft.
package difftest
