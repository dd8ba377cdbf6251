// Package sweep runs a simulation with many parameters and seeds, on all cores or on many machines,
// and says how far the results can be trusted.
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
// A file of results has a JSON object per line, one per run and metric; [Result.WriteCSV] writes the
// same as a table. A sweep that was killed goes on where it was if it is started again with the same
// file: a line that was cut off is removed, and what is there already is not run again. A line that
// is malformed, or of another study, is refused with its number, and nothing is run or overwritten.
// Only one process may write to a file.
//
// # Many machines
//
// With Options.Shard each of n processes runs its part, into its own file. [Merge] reads the files
// in any order. It refuses missing runs and values that contradict each other. On Kubernetes the
// part is the completion index of a Job: examples/simulator/SWEEP.md.
//
// # Intervals
//
// Intervals are those of package statistics, of Student's distribution: the values of the seeds are
// taken to be independent and nearly normal. A value that is NaN, as of an average of nothing, is
// left out; Count says how many are in. All points get the same seeds (common random numbers), so
// that the difference of two points has a much narrower interval than each of them, if their runs
// draw the same numbers for the same things: see package load.
//
// A study with a [Stop] runs as many seeds of a point as it takes until an interval is narrow
// enough. That it stops where the interval happens to be narrow makes it contain the true value a
// little less often than its level says; the fewer seeds it begins with, the more.
//
// # Determinism
//
// A run depends on its point and its seed alone. The result, and the file of a sweep that has ended,
// are the same bytes for any number of workers, and however often the sweep was interrupted.
//
// # Concurrency
//
// Study.Run is called by several goroutines at once. A Result is immutable and safe for concurrent
// use.
package sweep
