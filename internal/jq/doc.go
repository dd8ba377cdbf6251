// Package jq compiles jq programs once and runs them on one object at one moment, with bounded
// work.
//
//	p, err := jq.Compile(`.status.conditions[] | select(.type == "Ready") | .status`, jq.Options{})
//	...
//	outputs, err := p.Run(&jq.Input{Object: pod, Now: now})
//
// # Terminology
//
// A native program is one that only follows paths, compares and selects, as nearly all programs of
// real Stages do: it runs on the object's own maps. Every other program is run by gojq on a copy of
// the object, which an [Input] makes once. The results do not tell which of the two ran.
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
//   - (if .a then 1 else 2 end | 3) < 10 is true: gojq 0.12.20 leaves a value on its stack if a
//     constant or a variable follows what ends in one of several branches.
//   - A program that exceeds Options.Steps or Options.Size fails, even if the error would be
//     caught.
package jq
