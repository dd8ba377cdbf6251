package metrics_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/metrics"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

var (
	pod = stage.Key{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}
	at  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func TestEverythingIsCounted(t *testing.T) {
	m := metrics.New()
	for _, e := range []stage.TraceEvent{
		{Kind: stage.TraceObserved, Key: pod},
		{Kind: stage.TraceObserved, Key: pod},
		{Kind: stage.TraceScheduled, Key: pod, Stage: "pod-ready"},
		{Kind: stage.TraceCancelled, Key: pod, Stage: "pod-ready"},
		{Kind: stage.TracePlayed, Key: pod, Stage: "pod-ready"},
		{Kind: stage.TraceEffected, Key: pod, Stage: "pod-ready", Time: at.Add(30 * time.Millisecond), Due: at, Effect: stage.Patch{}},
		{Kind: stage.TraceEffected, Key: pod, Stage: "pod-ready", Time: at.Add(2 * time.Second), Due: at, Effect: stage.Patch{}, NoOp: true},
		{Kind: stage.TraceEffected, Key: pod, Stage: "pod-ready", Time: at, Due: at, Effect: stage.Event{}, Err: errors.New("try again")},
		{Kind: stage.TraceFailed, Key: pod, Stage: "pod-ready", Effect: stage.Delete{}, Err: errors.New("forbidden")},
		{Kind: stage.TraceFailed, Key: pod, Stage: "pod-ready", Err: &stage.Error{Key: pod, Err: errors.New("no such field")}},
		{Kind: stage.TraceFailed, Key: pod, Stage: "pod-ready", Err: stage.ErrLivelock},
		{Kind: stage.TraceFailed, Key: stage.Key{Version: "v1", Kind: "Pod"}, Err: errors.New("no connection")},
		{Kind: stage.TraceForgotten, Key: pod},
	} {
		m.Trace(e)
	}
	for range 2 { // two players
		m.Stats(func() player.Stats { return player.Stats{Objects: 5, Pending: 3, Retrying: 2, Queued: 1} })
	}
	require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(`
# HELP stagecraft_cancelled_total Stages that were left before they were played.
# TYPE stagecraft_cancelled_total counter
stagecraft_cancelled_total{group="",kind="Pod",stage="pod-ready"} 1
# HELP stagecraft_effects_total Effects by what became of them.
# TYPE stagecraft_effects_total counter
stagecraft_effects_total{effect="delete",group="",kind="Pod",result="failed"} 1
stagecraft_effects_total{effect="event",group="",kind="Pod",result="retried"} 1
stagecraft_effects_total{effect="patch",group="",kind="Pod",result="done"} 1
stagecraft_effects_total{effect="patch",group="",kind="Pod",result="nothing"} 1
# HELP stagecraft_failures_total What ended in an error.
# TYPE stagecraft_failures_total counter
stagecraft_failures_total{cause="effect",group="",kind="Pod"} 1
stagecraft_failures_total{cause="evaluation",group="",kind="Pod"} 1
stagecraft_failures_total{cause="livelock",group="",kind="Pod"} 1
stagecraft_failures_total{cause="watch",group="",kind="Pod"} 1
# HELP stagecraft_lag_seconds Time from when a transition was due to when an effect of it was done.
# TYPE stagecraft_lag_seconds histogram
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.001"} 0
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.0025"} 0
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.005"} 0
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.01"} 0
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.025"} 0
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.05"} 1
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.1"} 1
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.25"} 1
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="0.5"} 1
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="1"} 1
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="2.5"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="5"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="10"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="30"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="60"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="300"} 2
stagecraft_lag_seconds_bucket{group="",kind="Pod",le="+Inf"} 2
stagecraft_lag_seconds_sum{group="",kind="Pod"} 2.03
stagecraft_lag_seconds_count{group="",kind="Pod"} 2
# HELP stagecraft_objects Objects that are played.
# TYPE stagecraft_objects gauge
stagecraft_objects 10
# HELP stagecraft_observed_total States of objects that were looked at.
# TYPE stagecraft_observed_total counter
stagecraft_observed_total{group="",kind="Pod"} 2
# HELP stagecraft_pending Objects that have a transition ahead.
# TYPE stagecraft_pending gauge
stagecraft_pending 6
# HELP stagecraft_played_total Stages that were played.
# TYPE stagecraft_played_total counter
stagecraft_played_total{group="",kind="Pod",stage="pod-ready"} 1
# HELP stagecraft_queued Objects with news that nobody has looked at yet.
# TYPE stagecraft_queued gauge
stagecraft_queued 2
# HELP stagecraft_retrying Objects that wait to send an effect again.
# TYPE stagecraft_retrying gauge
stagecraft_retrying 4
# HELP stagecraft_scheduled_total Stages that were entered.
# TYPE stagecraft_scheduled_total counter
stagecraft_scheduled_total{group="",kind="Pod",stage="pod-ready"} 1
`)))
	problems, err := testutil.CollectAndLint(m)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestNoGaugesWithoutAPlayer(t *testing.T) {
	require.Zero(t, testutil.CollectAndCount(metrics.New()))
}

func TestSeriesDoNotGrowWithObjects(t *testing.T) {
	m := metrics.New()
	count := func(name string) int {
		key := pod
		key.Name = name
		m.Trace(stage.TraceEvent{Kind: stage.TraceObserved, Key: key})
		m.Trace(stage.TraceEvent{Kind: stage.TracePlayed, Key: key, Stage: "pod-ready"})
		return testutil.CollectAndCount(m)
	}
	require.Equal(t, count("a"), count("b"))
}

func BenchmarkTrace(b *testing.B) {
	m := metrics.New()
	e := stage.TraceEvent{Kind: stage.TraceEffected, Key: pod, Stage: "pod-ready", Time: at.Add(time.Second), Due: at, Effect: stage.Delete{}}
	b.ReportAllocs()
	for b.Loop() {
		m.Trace(e)
	}
}

// Metrics of a player, served over HTTP.
func Example() {
	m := metrics.New()
	player := player.New(stage.MustCompile(), nil, player.Options{Trace: m.Trace}) // nil: your transport
	m.Stats(player.Stats)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}
