// Package fakes is the root of a module with the clients that the code under test may have, on the cluster of a lab:
//
//	fakes/clientgo      typed clientsets and the dynamic client of client-go, by their fakes
//	fakes/ctrlruntime   the client of controller-runtime
//
// Tests that import one of them link nothing of the other.
package fakes
