// Package expr compiles the two expression languages of Stages, jq and CEL, once, and evaluates them on one object at one
// moment, fast, with bounded work, and with no view of the machine it runs on.
//
// # Terminology
//
// A Compiler turns source text into a [JQ] or a [CEL]. A [Scope] is an object and what an evaluation may know beside it:
// the time, the seed of Rand, further variables. jq that only follows paths, compares and selects (nearly all jq in real
// Stages) is native: it runs over the object's own maps. Other jq is run by gojq on a copy, which the Scope makes once. CEL that does no more than
// that is native, too, and other CEL is run by cel-go. Whether a program is native cannot be told from its results, only from its [Work].
//
// # Usage
//
//	c := expr.NewCompiler(expr.Options{})
//	phase, err := c.JQ(`.status.phase`)
//	ready, err := c.CEL(`self.status.phase == "Running"`, expr.Bool)
//	...
//	s := expr.NewScope(pod, now)
//	outputs, err := phase.Outputs(s)
//	ok, err := ready.Bool(s)
//
// # Determinism
//
// The same program, object, time and seed give the same result, on every machine. jq `now` and CEL `Now()` read the Scope,
// local time is UTC, `Rand()` is a hash of the seed and of how many numbers the evaluation drew before, and maps are
// iterated in the order of their keys. Work is counted, not timed: a program that does too much fails at the same point everywhere.
//
// # Concurrency
//
// Compiler, JQ and CEL are immutable and safe for concurrent use. A Scope must not be used from several goroutines at once.
//
// # Compatibility
//
// jq is gojq's: its results, order and error texts. It differs on purpose where Stages need it:
//
//   - An int64 stays an int64; integers beyond that come out as json.Number.
//   - env, $ENV, input, debug, halt and their like, modules, and names that begin with two underscores are refused by JQ.
//   - localtime and strflocaltime work in UTC.
//   - An interpolated string as an object key needs a value: {"a\(.b)": 1}, not {"a\(.b)"}.
//   - (if .a then 1 else 2 end | 3) < 10 is true in native jq. gojq 0.12.20 says false where .a holds: of two constant branches
//     before another constant, it leaves one on its stack. So it does with a constant after and or or: .b | select(1 or .a | 2).
//   - A program that exceeds Options.Steps or Options.Size fails, even if the error would be caught.
//
// CEL has the standard library and the extensions strings, lists, math, sets, encoders, optionals and two-variable
// comprehensions. kwok has none of these; its functions Now, Rand, UnixSecond, SinceSecond and Quantity are here as well.
package expr
