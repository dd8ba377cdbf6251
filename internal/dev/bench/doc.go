// Package bench puts this module beside kwok v0.8: the same Stages and objects go through kwok's lifecycle and through package
// stage, to compare what they decide (the tests) and how long they take (the benchmarks).
//
// # Terminology
//
// A [Case] is Stages and an object. A side is one implementation: [Kwok] or [Ours]. An [Outcome] is what a side decides on a case, as
// data. A difference is a row of the table in the documentation of package stage.
//
// # Usage
//
//	go test -run TestDifferential -cases 100000        # generated cases, equal but for the differences
//	go test -run '^$' -fuzz FuzzDifferential           # the same, as long as wanted
//	go test -run '^$' -bench . -benchmem               # times
//	go run ./ratio                                     # times beside each other
//
// The directories below compare other packages with their peers: kstatus with cli-utils (go run ./kstatus/ratio), patch with the API server's
// libraries.
//
// # Determinism
//
// A case follows from its seed. Both sides read the clock at [Now] and print placeholders for addresses.
package bench
