// Package load says when work arrives in a simulation and how large it is: distributions, seeded streams of draws from them, and recorded
// traces.
//
// # Terminology
//
// A [Distribution] is given by its quantiles, so that one uniform draw makes one value. A [Stream] draws from one distribution; its name
// and a seed decide all its values. Arrivals are offsets from a start, in order. A trace is a table of arrivals that were recorded
// somewhere else. Times and sizes are in seconds where they are floating-point numbers.
//
// # Usage
//
// A hundred Jobs, 50 s apart on average, whose size is a draw each:
//
//	gaps, err := load.New(seed, "gaps", load.Exponential{Mean: 50})
//	sizes, err := load.New(seed, "sizes", load.Exponential{Mean: 60})
//	gpus, err := load.New(seed, "gpus", load.Values{2, 4, 6, 8})
//	load.Play(sim, gaps.Arrivals(100), func(ctx context.Context, n int) error {
//		return submit(ctx, n, sizes.Duration(), int(gpus.Next()))
//	})
//
// How long an object stays in a Stage is written where the Stage reads it: with
// delay.durationFrom.jq.expression '.metadata.annotations["example.com/size"]', the annotation is sizes.Duration().String().
//
// # Determinism
//
// The values of a Stream depend on its seed, name and distribution, and on how many were drawn before, not on other streams: adding one
// changes nothing else. Two streams of the same seed and name and of different distributions draw the same shares, so that the long
// sizes of the one are the long sizes of the other: policies and systems are compared on the same work.
//
// # Concurrency
//
// Distributions are immutable and safe for concurrent use. A Stream must not be used from several goroutines at once.
package load
