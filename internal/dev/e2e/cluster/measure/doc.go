// Package measure measures programs from outside: what a [Process] uses of the machine, and what the API server counts of its requests. The first it reads in
// /proc, which only Linux has.
//
// # Concurrency
//
// A Process belongs to one goroutine.
package measure
