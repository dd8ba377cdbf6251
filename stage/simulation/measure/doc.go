// Package measure computes metrics of the log of a run, and compares runs: how long objects waited and worked, how many there were, what
// they used. Package expect says in tests what they should be.
//
// # Terminology
//
// A [Span] is the time of one object between two of its records. A [Series] is a number over time that holds until it changes. A [Metric] is
// either a span of each object or a series, with a name. A [Sample] is the values of a metric: each span counts once, and each value of a
// series as long as it lasted, so that its mean is the mean over time. Durations are in seconds.
//
// # Usage
//
//	waits := measure.SchedulingLatency().Sample(log)
//	fmt.Println(waits.Mean(), waits.Quantile(0.99))
//
// The values over time themselves, for a plot:
//
//	for _, p := range measure.PendingPods().Series(log) { … }
//
// # Metrics
//
// These have a name, by which [Named] and assertions know them:
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
// KIND is as in the log: Pod, Job.batch. What has not come to its end when the log ends has no span: look at the count, too.
//
// # Quantiles
//
// The quantile of p is the smallest value that at least the share p of the sample does not exceed (the inverse of the empirical
// distribution function, type 1 of Hyndman and Fan): always a value that occurred, for spans and series alike. The standard deviation is
// that of the sample itself, divided by its size and not by one less.
//
// # Concurrency
//
// All functions are pure and all types immutable and safe for concurrent use, as long as nobody appends to the log.
package measure
