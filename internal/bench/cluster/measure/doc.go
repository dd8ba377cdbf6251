// Package measure measures programs from outside, on Linux: what a [Process] uses of the machine, and what the API server counts of its requests.
//
// # Concurrency
//
// A Process belongs to one goroutine.
package measure
