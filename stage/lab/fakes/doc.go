// Package fakes is the root of a module with a client of the cluster of a lab for the code under test:
//
//	fakes/ctrlruntime   the client of controller-runtime, for reconcilers that are called step by step
//
// Clients of client-go, informers and whole managers use module stage/lab/apiserver.
package fakes
