// Package bench compares this module with kwok v0.8. The same Stages and objects go through kwok's
// lifecycle and through package stage. The tests compare their decisions, the benchmarks their
// times.
//
// # Terminology
//
// A [Case] is Stages and an object. A side is one implementation: [Kwok] or [Stagecraft]. An
// [Outcome] is the decision of a side on a case. A difference is a row of the table of differences
// of package stage.
//
// # Usage
//
//	go test -run TestDifferential -cases 100000        # generated cases; outcomes are equal apart from the differences
//	go test -run '^$' -fuzz FuzzDifferential           # the same, as long as wanted
//	go test -run '^$' -bench . -benchmem               # times
//	go run ./ratio                                     # ratios of times
//
// The directories below compare other packages with their peers: kstatus with cli-utils (go run
// ./kstatus/ratio), patch with the API server's libraries.
//
// # Determinism
//
// The seed of a case decides the whole case. Both sides use [Now] as the time and print
// placeholders for addresses.
package bench
