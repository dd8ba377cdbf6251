// Package load says when work arrives in a simulation, and how large the work is. It has
// probability distributions, seeded streams of random numbers, and recorded traces.
//
// # Terminology
//
// A [Distribution] is given by its quantiles, so that one uniform random number makes one value. A
// [Stream] draws values from a distribution; its name and a seed determine all values. Arrivals are
// times since a start, in order. A trace is a table of arrivals that were recorded elsewhere.
// Floating-point times and sizes are in seconds.
//
// # Usage
//
// A hundred Jobs, 50 s apart on average, with random sizes:
//
//	gaps, err := load.New(seed, "gaps", load.Exponential{Mean: 50})
//	sizes, err := load.New(seed, "sizes", load.Exponential{Mean: 60})
//	gpus, err := load.New(seed, "gpus", load.Values{2, 4, 6, 8})
//	load.Schedule(sim, gaps.Arrivals(100), func(ctx context.Context, n int) error {
//		return submit(ctx, n, sizes.Duration(), int(gpus.Next()))
//	})
//
// To set how long an object stays in a Stage, write the duration where the Stage reads it. With
// delay.durationFrom.jq.expression '.metadata.annotations["example.com/size"]', set that annotation
// to sizes.Duration().String().
//
// Recorded tables are read unchanged. Columns says where the times and numbers are:
//
//	jobs, err := load.ReadCSV("jobs.csv", file, load.Columns{
//		At: "submitted_time", Times: []string{"start_time", "end_time"}, Layout: time.DateTime,
//		Numbers: []string{"gpus"}, Null: []string{"None"},
//	})
//	load.Schedule(sim, load.Arrivals(jobs), func(ctx context.Context, n int) error {
//		return submit(ctx, n, jobs[n].Times["end_time"]-jobs[n].At, int(jobs[n].Numbers["gpus"]))
//	})
//
// Nested JSON is read with Cells. Each cell is a jq expression. This example reads the log of
// Philly:
//
//	jobs, err := load.ReadJSON("cluster_job_log", file, load.Columns{
//		At: "submitted_time", Times: []string{"start", "end"}, Layout: time.DateTime,
//		Optional: []string{"gpus"}, Null: []string{"None"},
//		Cells: map[string]string{
//			"start": ".attempts[0].start_time", "end": ".attempts[-1].end_time",
//			"gpus": "[.attempts[-1].detail[]?.gpus | length] | add",
//		},
//	})
//
// # Determinism
//
// The values of a Stream depend on its seed, its name, its distribution and the number of earlier
// draws, but not on other streams: adding a stream changes nothing else. Two streams with the same
// seed and name but different distributions draw the same quantiles, so that an object with a large
// size in one has a large size in the other. So policies and systems are compared on the same work.
//
// # Concurrency
//
// Distributions are immutable and safe for concurrent use. A Stream must not be used from several
// goroutines at once.
package load
