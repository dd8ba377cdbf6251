// Package jq compiles jq programs once. It runs them on one object at one time, with bounded work.
//
//	p, err := jq.Compile(`.status.conditions[] | select(.type == "Ready") | .status`, jq.Options{})
//	...
//	outputs, err := p.Run(&jq.Input{Object: pod, Now: now})
//
// # Terminology
//
// A native program only follows paths, compares and selects, like nearly all programs of real
// Stages. It runs directly on the maps of the object. gojq runs every other program on a copy of
// the object, which an [Input] makes once. Both ways give the same results.
//
// # Determinism
//
// The same program, object and time give the same result on every machine. Work is counted, not
// timed: a program that does too much fails at the same point everywhere.
//
// # Concurrency
//
// A Program is immutable and safe for concurrent use. An Input must not be used from several
// goroutines at once.
//
// # Compatibility
//
// Results, their order and the texts of errors are the same as gojq's. These differences are
// intended:
//
//   - An int64 stays an int64; integers beyond that come out as json.Number.
//   - env, $ENV, input, debug, halt and similar functions, modules, and names that begin with two
//     underscores are refused.
//   - now is the time of the Input; localtime and strflocaltime work in UTC.
//   - An interpolated string as an object key needs a value: {"a\(.b)": 1}, not {"a\(.b)"}.
//   - (if .a then 1 else 2 end | 3) < 10 is true. gojq 0.12.20 leaves a value on its stack if a
//     constant or a variable follows an expression that ends in one of several branches.
//   - A program that exceeds Options.Steps or Options.Size fails, even if the error would be
//     caught.
package jq
