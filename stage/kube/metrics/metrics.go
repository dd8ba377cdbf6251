package metrics

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// Collector counts. It is a [prometheus.Collector].
type Collector struct {
	observed, scheduled, cancelled, played, effects, failures *prometheus.CounterVec

	lag *prometheus.HistogramVec

	mutex sync.Mutex
	stats []func() player.Stats
}

// buckets of the lag, in seconds. The lag of a player that is not overloaded is some milliseconds,
// the time of a request.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// New returns a collector whose counters are 0.
func New() *Collector {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "stagecraft", Name: name, Help: help}, append([]string{"group", "kind"}, labels...))
	}
	return &Collector{
		observed:  counter("observed_total", "States of objects that were looked at."),
		scheduled: counter("scheduled_total", "Stages that were entered.", "stage"),
		cancelled: counter("cancelled_total", "Stages that were left before they were played.", "stage"),
		played:    counter("played_total", "Stages that were played.", "stage"),
		effects:   counter("effects_total", "Effects by what became of them.", "effect", "result"),
		failures:  counter("failures_total", "What ended in an error.", "cause"),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "stagecraft", Name: "lag_seconds", Buckets: buckets,
			Help: "Time from when a transition was due to when an effect of it was done.",
		}, []string{"group", "kind"}),
	}
}

// Trace counts an event. It is for the Trace of [player.Options] or [stage.EngineOptions].
func (c *Collector) Trace(e stage.TraceEvent) {
	group, kind := e.Key.Group, e.Key.Kind
	switch e.Kind {
	case stage.TraceObserved:
		c.observed.WithLabelValues(group, kind).Inc()
	case stage.TraceScheduled:
		c.scheduled.WithLabelValues(group, kind, e.Stage).Inc()
	case stage.TraceCancelled:
		c.cancelled.WithLabelValues(group, kind, e.Stage).Inc()
	case stage.TracePlayed:
		c.played.WithLabelValues(group, kind, e.Stage).Inc()
	case stage.TraceEffected:
		c.effected(e)
	case stage.TraceFailed:
		c.failed(e)
	}
}

func (c *Collector) effected(e stage.TraceEvent) {
	group, kind := e.Key.Group, e.Key.Kind
	result := "done"
	switch {
	case e.Err != nil:
		result = "retried"
	case e.NoOp:
		result = "nothing"
	}
	c.effects.WithLabelValues(group, kind, effect(e.Effect), result).Inc()
	if e.Err == nil {
		c.lag.WithLabelValues(group, kind).Observe(e.Time.Sub(e.Due).Seconds())
	}
}

func (c *Collector) failed(e stage.TraceEvent) {
	group, kind := e.Key.Group, e.Key.Kind
	if e.Effect != nil {
		c.effects.WithLabelValues(group, kind, effect(e.Effect), "failed").Inc()
	}
	c.failures.WithLabelValues(group, kind, cause(e)).Inc()
}

// cause classifies a failure.
func cause(e stage.TraceEvent) string {
	var eval *stage.Error
	switch {
	case e.Key.Name == "":
		return "watch"
	case errors.Is(e.Err, stage.ErrLivelock):
		return "livelock"
	case errors.As(e.Err, &eval):
		return "evaluation"
	}
	return "effect"
}

func effect(e stage.Effect) string {
	switch e.(type) {
	case stage.Event:
		return "event"
	case stage.Patch:
		return "patch"
	case stage.Apply:
		return "apply"
	case stage.Delete:
		return "delete"
	}
	return "none" // a conflict that ended a transition before an effect was sent
}

// Stats adds a player to the gauges, which are the sums over all players.
func (c *Collector) Stats(of func() player.Stats) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.stats = append(c.stats, of)
}

// sum adds up the numbers of all players. It returns false without players.
func (c *Collector) sum() (all player.Stats, some bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, of := range c.stats {
		s := of()
		all.Objects += s.Objects
		all.Pending += s.Pending
		all.Retrying += s.Retrying
		all.Queued += s.Queued
	}
	return all, len(c.stats) > 0
}

// gauges are the values of [player.Stats].
var gauges = []struct {
	desc *prometheus.Desc
	of   func(player.Stats) int
}{
	{gauge("objects", "Objects that are played."), func(s player.Stats) int { return s.Objects }},
	{gauge("pending", "Objects that have a transition ahead."), func(s player.Stats) int { return s.Pending }},
	{gauge("retrying", "Objects that wait to send an effect again."), func(s player.Stats) int { return s.Retrying }},
	{gauge("queued", "Objects with news that nobody has looked at yet."), func(s player.Stats) int { return s.Queued }},
}

func gauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("stagecraft_"+name, help, nil, nil)
}

func (c *Collector) parts() []prometheus.Collector {
	return []prometheus.Collector{c.observed, c.scheduled, c.cancelled, c.played, c.effects, c.failures, c.lag}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, p := range c.parts() {
		p.Describe(out)
	}
	for _, g := range gauges {
		out <- g.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, p := range c.parts() {
		p.Collect(out)
	}
	all, some := c.sum()
	if !some {
		return
	}
	for _, g := range gauges {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(g.of(all)))
	}
}
