// Package measure computes metrics of the log of a run, and compares runs. Examples are how long
// objects waited, how many objects existed and what they used. Package expect tests metrics.
//
// # Terminology
//
// A [Span] is the time between two records of one object. A [Series] is a number that changes over
// time. A [Metric] is a span of each object, or a series, with a name. A [Sample] is the values of
// a metric: each span counts once, and each value of a series counts as long as it lasted, so that
// its mean is the mean over time. Durations are in seconds.
//
// # Usage
//
//	waits := measure.SchedulingLatency().Sample(log)
//	fmt.Println(waits.Mean(), waits.Quantile(0.99))
//
// To plot the values over time:
//
//	for _, p := range measure.PendingPods().Series(log) { … }
//
// # Metrics
//
// [Named] and assertions find these metrics by their names:
//
//	scheduling latency        of a Pod, from its creation until it has a node
//	dispatch time             of a Job, from its creation until it runs: it has a start time, and is not suspended
//	response time             of a Job, from its creation until it is complete or failed
//	job completion time       of a Job, from its first start until it is complete or failed
//	time of KIND in STATE     of an object, each time that it is in the state
//	pending pods              number over time of Pods without a node that have not ended
//	number of KIND in STATE   number over time of objects
//	use of RESOURCE           over time, what Pods request that have a node and have not ended
//	capacity of RESOURCE      over time, what all Nodes can allocate, whether they are ready or not
//	utilization of RESOURCE   over time, its use as a share of that capacity
//
// KIND is as in the log: Pod, Job.batch. An object whose span has not ended at the end of the log
// has no span, so look at the count as well.
//
// # Windows
//
// The warm-up of a run, and its end when nothing new arrives, are part of its log and of its
// metrics. [Metric.In] measures in a [Window], and so does a name that ends in one:
//
//	busy := measure.Utilization("nvidia.com/gpu").In(measure.Window{From: 10 * time.Minute, To: time.Hour})
//	busy, _ := measure.Named("utilization of nvidia.com/gpu from 10m to 1h")
//
// To cut a log as well, use [record.Log.Since], which keeps the state at that time.
//
// # Quantiles
//
// The quantile of p is the smallest value that at least the share p of the sample does not exceed
// (the inverse of the empirical distribution function, type 1 of Hyndman and Fan). It is always a
// value that occurred, for spans and series alike. The standard deviation is that of the sample:
// divided by its size, not by the size minus one.
//
// # Concurrency
//
// All functions are pure, and all types are immutable and safe for concurrent use, as long as the
// log does not change.
package measure
