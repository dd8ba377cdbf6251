package kueue_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/simulator/kueue"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

const config = `
cohorts:
- className: cohort
  count: 1
  queuesSets:
  - {className: cq, count: COUNT, nominalQuota: 20, borrowingLimit: LIMIT, reclaimWithinCohort: Any, withinClusterQueue: LowerPriority, workloadsSets: SETS}
`

func replace(text, old, new string) string { return strings.ReplaceAll(text, old, new) }

func parse(t *testing.T, count, limit, sets string) kueue.Config {
	t.Helper()
	text := []byte(config)
	for old, new := range map[string]string{"COUNT": count, "LIMIT": limit, "SETS": sets} {
		text = []byte(replace(string(text), old, new))
	}
	c, err := kueue.Parse("generator.yaml", text)
	require.NoError(t, err)
	return c
}

// ideal is a cluster on which writes take 10 ms and nothing else takes time.
func ideal() kueue.Options {
	return kueue.Options{Write: load.Fixed(0.01), Batch: time.Second}
}

func run(t *testing.T, c kueue.Config, o kueue.Options) kueue.Result {
	t.Helper()
	r, err := kueue.Run(t.Context(), c, o)
	require.NoError(t, err)
	return r
}

// Three Workloads that need the whole quota run one after another: each next one begins a second
// after the one before gave back its quota, because that is when it is tried again.
func TestTheBatchOfRetries(t *testing.T) {
	c := parse(t, "1", "0", `[{count: 3, creationIntervalMs: 100, workloads: [{className: large, runtimeMs: 1000, priority: 1, request: 20}]}]`)
	r := run(t, c, ideal())
	require.Equal(t, 3, r.Workloads)
	// Created after 110 ms; writes of 10 ms for admission and end around each second of running.
	require.Equal(t, 110*time.Millisecond+3*1020*time.Millisecond+2*time.Second, r.Wall)
	require.Zero(t, r.Evictions)
	require.InDelta(t, 100*3*1.02/5.17, r.Use, 0.1)
	require.Equal(t, 3+2, r.Writes, "three admissions, and two that were told to wait")
}

// Workloads that fit are limited by the client of their kind.
func TestTheLimitOfTheClient(t *testing.T) {
	c := parse(t, "1", "0", `[{count: 400, creationIntervalMs: 0, workloads: [{className: tiny, runtimeMs: 1, priority: 1, request: 1m}]}]`)
	o := ideal()
	o.Write, o.Workloads = load.Fixed(0), timing.Limits{QPS: 50, Burst: 100}
	r := run(t, c, o)
	require.Equal(t, 400, r.Writes)
	require.InDelta(t, 6, r.Wall.Seconds(), 0.1, "(400 - 100)/50")
	o.Workloads = timing.Limits{}
	require.Less(t, run(t, c, o).Wall, 2*time.Second)
}

// A Workload of higher priority evicts the fewest others that make room; the evicted ones wait
// again.
func TestPreemption(t *testing.T) {
	c := parse(t, "1", "0", `[
  {count: 2, creationIntervalMs: 10, workloads: [{className: low, runtimeMs: 5000, priority: 1, request: 10}]},
  {count: 1, creationIntervalMs: 1000, workloads: [{className: high, runtimeMs: 1000, priority: 2, request: 5}]}]`)
	r := run(t, c, ideal())
	require.Equal(t, 1, r.Evictions)
	require.Less(t, r.Admission["high"], 100*time.Millisecond)
	require.Greater(t, r.Admission["low"], time.Second, "the mean of both, one of them the second time")
	require.Greater(t, r.Wall, 8*time.Second)
}

// A queue borrows unused quota of others, up to its limit, and they reclaim it.
func TestBorrowingAndReclaiming(t *testing.T) {
	sets := `[{count: 2, creationIntervalMs: 10, workloads: [{className: large, runtimeMs: 1000, priority: 1, request: 20}]}]`
	two := run(t, parse(t, "2", "100", sets), ideal())
	require.InDelta(t, 1.02*2+1+0.02, two.Wall.Seconds(), 0.05, "each queue has one after another: both are used")
	require.Zero(t, two.Evictions)
	text := replace(replace(config, "COUNT", "1"), "LIMIT", "LIMIT1")
	text = replace(replace(text, "SETS", `[{count: 2, creationIntervalMs: 10, workloads: [{className: a, runtimeMs: 5000, priority: 9, request: 20}]}]`), "LIMIT1", "100")
	text += `  - {className: other, count: 1, nominalQuota: 20, borrowingLimit: 0, reclaimWithinCohort: Any, withinClusterQueue: LowerPriority, workloadsSets: [
      {count: 1, creationIntervalMs: 1000, workloads: [{className: b, runtimeMs: 100, priority: 1, request: 20}]}]}
`
	c, err := kueue.Parse("generator.yaml", []byte(text))
	require.NoError(t, err)
	r := run(t, c, ideal())
	require.Equal(t, 1, r.Evictions, "the one that borrows, whatever its priority")
	require.Less(t, r.Admission["b"], 100*time.Millisecond)
}

func TestConfigsThatAreRefused(t *testing.T) {
	queue := `{className: cq, count: 1, nominalQuota: 20, borrowingLimit: 0, reclaimWithinCohort: Any, withinClusterQueue: LowerPriority, workloadsSets: []}`
	for text, want := range map[string]string{
		"cohorts: []": "it has no cohorts",
		"cohort: []":  `unknown field "cohort"`,
		"cohorts: [{queuesSets: [" + replace(queue, "Any", "Never") + "]}]":                                       "others are not modelled",
		"cohorts: [{queuesSets: [" + replace(queue, "20", "twenty") + "]}]":                                       "quantities must match",
		"cohorts: [{queuesSets: [" + replace(queue, "[]", "[{workloads: [{className: w, request: 21}]}]") + "]}]": "of a quota of 20: not modelled",
	} {
		_, err := kueue.Parse("g.yaml", []byte(text))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "g.yaml")
	}
	_, err := kueue.Study(t.TempDir(), kueue.Defaults())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "published at https://github.com/kubernetes-sigs/kueue")
}

const data = "../../../../shared/data/kueue"

// While Workloads that are alike are parked, a new Workload of that class that would fit waits with
// them.
func TestParkingThoseThatAreAlike(t *testing.T) {
	c := parse(t, "1", "0", `[{count: 3, creationIntervalMs: 450, workloads: [{className: large, runtimeMs: 500, priority: 1, request: 20}]}]`)
	o := ideal()
	alone := run(t, c, o)
	o.Alike = true
	alike := run(t, c, o)
	require.InDelta(t, 2.5, alone.Wall.Seconds(), 0.1, "the third begins at 1.38 s, the second when all are tried again")
	require.InDelta(t, 4, alike.Wall.Seconds(), 0.1, "the second begins at 1.98 s, the third a second after its end")
}

// TestPublished runs two seeds of baseline and tas, as far as their files are here, and holds the
// errors that the page of the study reports. Of large-scale there is the command: go run . -study
// kueue.
func TestPublished(t *testing.T) {
	s, err := kueue.Study(data, kueue.Defaults())
	if err != nil {
		t.Skip(err)
	}
	s.Parameters[0].Values, s.Seeds = []string{"baseline", "tas"}, 2
	result, err := sweep.Do(t.Context(), s, sweep.Options{})
	require.NoError(t, err)
	for _, p := range kueue.Results() {
		point, err := s.Point(p.Run)
		if err != nil {
			continue
		}
		e, err := result.Estimate(0.95, point, p.Metric)
		require.NoError(t, err)
		t.Logf("%s %s: %.4g simulated, %.4g published", p.Run, p.Metric, e.Mean, p.Value)
		require.InEpsilon(t, p.Value, e.Mean, 0.35, "%s %s", p.Run, p.Metric)
		if p.Run == "baseline" && p.Metric == "wall" {
			require.InEpsilon(t, p.Value, e.Mean, 0.05)
		}
	}
	s.Parameters[0].Values, s.Seeds = []string{"baseline"}, 1
	again, err := sweep.Do(t.Context(), s, sweep.Options{Workers: 1})
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, result.WriteJSONL(&first))
	require.NoError(t, again.WriteJSONL(&second))
	require.True(t, strings.HasPrefix(first.String(), second.String()), "same seed, same bytes")
}
