// Package faults puts a network and a server that fail between a client and a cluster, for tests.
//
// The names of the faults are in one table. [Dice] decide which of them strike, until a moment. [Write],
// [List] and [Read] say what a fault makes of a request, whatever an answer looks like: [Transport] uses
// them for calls, internal/dev/e2e/histories for HTTP.
//
// # Concurrency
//
// All functions and types are safe for concurrent use.
package faults
