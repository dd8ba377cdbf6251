package measure

import (
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Metric measures something in a log: a span of each object, or a series. One of the two
// functions is nil.
type Metric struct {
	// Name is the name in reports and assertions: words separated by single spaces.
	Name   string
	Spans  func(record.Log) []Span
	Series func(record.Log) Series
}

// Sample returns the values: of spans their seconds, of a series each value weighted by how long it
// lasted.
func (m Metric) Sample(log record.Log) Sample {
	if m.Series != nil {
		return m.Series(log).Sample()
	}
	spans := m.Spans(log)
	values := make([]float64, len(spans))
	for i, s := range spans {
		values[i] = s.Duration().Seconds()
	}
	return NewSample(values...)
}

// Between makes a metric of the time between two records of each object of a kind. The time begins
// with the first record that matches from. It ends with the first record, at the same time or
// later, that matches to. A nil from matches the record of the creation of the object, whose From
// is "". Spans are in the order of their ends.
func Between(name, kind string, from, to Where) Metric {
	return Metric{Name: name, Spans: func(log record.Log) []Span { return spansOf(log, kind, from, to) }}
}

// OverTime makes a metric of the number of objects whose last record matches. It begins and ends
// with the log.
func OverTime(name string, of Where) Metric {
	return Metric{Name: name, Series: func(log record.Log) Series { return numberOf(log, of) }}
}

const job = "Job.batch"

var finished = In(record.Complete, record.Failed)

// SchedulingLatency is the time from the creation of a Pod until it has a node.
func SchedulingLatency() Metric {
	return Between("scheduling latency", "Pod", nil, func(r record.Record) bool { return r.Node != "" })
}

// DispatchTime is the time from the creation of a Job until it runs.
func DispatchTime() Metric {
	return Between("dispatch time", job, nil, In(record.Running, record.Complete, record.Failed))
}

// ResponseTime is the time from the creation of a Job until it is complete or failed.
func ResponseTime() Metric { return Between("response time", job, nil, finished) }

// JobCompletionTime is the time from the first start of a Job until it is complete or failed.
func JobCompletionTime() Metric {
	return Between("job completion time", job, In(record.Running), finished)
}

// TimeIn is how long an object was in a state, each time that it was.
func TimeIn(kind, state string) Metric {
	return Metric{
		Name:  "time of " + kind + " in " + state,
		Spans: func(log record.Log) []Span { return staysOf(log, kind, In(state)) },
	}
}

// PendingPods is the number of Pods without a node that have not ended.
func PendingPods() Metric {
	return OverTime("pending pods", func(r record.Record) bool { return r.Kind == "Pod" && r.Node == "" && !ended(r) })
}

// NumberIn is the number of objects of a kind in a state.
func NumberIn(kind, state string) Metric {
	return OverTime("number of "+kind+" in "+state, func(r record.Record) bool { return r.Kind == kind && r.To == state })
}

// Use is what Pods request of a resource while they have a node and have not ended: CPU in cores,
// memory in bytes.
func Use(resource string) Metric {
	return Metric{Name: "use of " + resource, Series: func(log record.Log) Series { return used(log, resource) }}
}

// Capacity is what all Nodes can allocate of a resource, whether they are ready or not.
func Capacity(resource string) Metric {
	return Metric{Name: "capacity of " + resource, Series: func(log record.Log) Series { return capacity(log, resource) }}
}

// Utilization is the use of a resource as a share of what all Nodes can allocate.
func Utilization(resource string) Metric {
	return Metric{
		Name:   "utilization of " + resource,
		Series: func(log record.Log) Series { return used(log, resource).Over(capacity(log, resource)) },
	}
}

// Named returns a metric by its name, as listed in the package comment. It first looks among the
// given metrics. A name may end in a window, as in "pending pods from 10m to 1h".
func Named(name string, own ...Metric) (Metric, bool) {
	for _, m := range slices.Concat(own, Standard()) {
		if m.Name == name {
			return m, true
		}
	}
	if before, w, ok := windowOf(name); ok {
		m, ok := Named(before, own...)
		return m.In(w), ok
	}
	for _, f := range families {
		if m, ok := f.named(name); ok {
			return m, true
		}
	}
	return Metric{}, false
}

// Standard returns the metrics without parameters.
func Standard() []Metric {
	return []Metric{SchedulingLatency(), DispatchTime(), ResponseTime(), JobCompletionTime(), PendingPods()}
}

// A family is metrics whose names contain one or two parameters.
type family struct {
	before, between string
	metric          func(first, second string) Metric
}

var families = []family{
	{"time of ", " in ", TimeIn},
	{"number of ", " in ", NumberIn},
	{"use of ", "", func(resource, _ string) Metric { return Use(resource) }},
	{"capacity of ", "", func(resource, _ string) Metric { return Capacity(resource) }},
	{"utilization of ", "", func(resource, _ string) Metric { return Utilization(resource) }},
}

func (f family) named(name string) (Metric, bool) {
	first, ok := strings.CutPrefix(name, f.before)
	second := ""
	if ok && f.between != "" {
		first, second, ok = strings.Cut(first, f.between)
		ok = ok && second != ""
	}
	if !ok || first == "" {
		return Metric{}, false
	}
	return f.metric(first, second), true
}
