// Package sweep runs a simulation with many parameters and seeds, on all cores or on many machines,
// and computes how reliable the results are.
//
// # Terminology
//
// A [Study] has parameters, each with a list of values. A [Point] is one combination of values. A
// [Run] is a point and a seed. A metric is a number that each run measures. A [Row] is the value of
// one metric in one run.
//
// # Usage
//
//	study := sweep.Study{
//		Name:       "policies 1",
//		Parameters: []sweep.Parameter{{Name: "policy", Values: []string{"fifo", "gang"}}, sweep.Numbers("nodes", 2, 4, 8)},
//		Seeds:      10,
//		Metrics:    []string{"response time", "utilization"},
//		Run: func(ctx context.Context, r sweep.Run) ([]float64, error) {
//			log, err := simulate(ctx, r.Value("policy"), r.Number("nodes"), r.Seed)
//			return []float64{…}, err
//		},
//	}
//	result, err := sweep.Do(ctx, study, sweep.Options{File: "policies.jsonl"})
//	for _, e := range result.Estimates(0.95) {
//		fmt.Println(e.Point, e.Metric, e.Interval)
//	}
//
// Two policies are compared seed by seed with [Result.Difference].
//
// # Result files
//
// A file of results has a JSON object per line, one per run and metric. [Result.WriteCSV] writes
// the same as a table. To continue a sweep that was killed, start it again with the same file: it
// removes a line that was cut off, and does not repeat finished runs. If a line is malformed, or is
// of another study, the sweep refuses it with its number. It then runs nothing and overwrites
// nothing. Only one process may write to a file.
//
// # Many machines
//
// With Options.Shard each of n processes runs its part, into its own file. [Merge] reads the files
// in any order. It refuses missing runs and values that contradict each other. On Kubernetes the
// part is the completion index of a Job: examples/simulator/SWEEP.md.
//
// # Intervals
//
// Intervals are those of package statistics. They use Student's distribution, which assumes that
// the values of the seeds are independent and nearly normal. NaN values, such as the mean of no
// values, are left out; Count is the number of the others. All points get the same seeds (common
// random numbers). If their runs draw the same numbers for the same things, the difference of two
// points has a much narrower interval than each of them: see package load.
//
// A study with a [Stop] adds seeds to a point until an interval is narrow enough. Because it stops
// where the interval happens to be narrow, the interval contains the true value a little less often
// than its level says. The effect is larger with fewer initial seeds.
//
// # Determinism
//
// A run depends only on its point and its seed. The result, and the file of a sweep that has ended,
// are the same bytes for any number of workers and any number of interruptions.
//
// # Concurrency
//
// Study.Run is called by several goroutines at once. A Result is immutable and safe for concurrent
// use.
package sweep
