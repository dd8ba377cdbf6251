// Package measure measures programs from outside: the CPU time and memory of a [Process], which it
// reads in /proc on Linux, and the requests that the API server counts.
//
// # Concurrency
//
// A Process must not be used from several goroutines at once.
package measure
