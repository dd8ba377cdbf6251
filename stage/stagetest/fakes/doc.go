// Package fakes is the root of a module with clients, for the code under test, of the cluster of a
// lab:
//
//	fakes/clientgo      typed clientsets and the dynamic client of client-go, by their fakes
//	fakes/ctrlruntime   the client of controller-runtime
//
// A test that imports one of them does not link the other.
package fakes
