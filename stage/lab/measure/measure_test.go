package measure_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is a record some seconds after the start.
func at(seconds float64, r record.Record) record.Record {
	r.Time = start.Add(time.Duration(seconds * 1e9))
	return r
}

func pod(name, to, node string) record.Record {
	return record.Record{Kind: "Pod", Namespace: "default", Name: name, UID: name, To: to, Node: node}
}

func job(name, to string) record.Record {
	return record.Record{Kind: "Job.batch", Namespace: "default", Name: name, UID: name, To: to}
}

func with(r record.Record, a record.Amounts) record.Record {
	r.Amounts = a
	return r
}

// history is two Pods of two Jobs on a node for one.
func history() record.Log {
	return record.Log{
		at(0, with(record.Record{Kind: "Node", Name: "n1", To: "NotReady"}, record.Amounts{"gpu": 8, "cpu": 0.3})),
		at(0, job("a", "Pending")),
		at(0, job("a", "Running")),
		at(0, with(pod("a", "Pending", ""), record.Amounts{"gpu": 8, "cpu": 0.1})),
		at(0, pod("a", "Scheduled", "n1")),
		at(1, job("b", "Suspended")),
		at(2, job("b", "Running")),
		at(2, with(pod("b", "Pending", ""), record.Amounts{"gpu": 4, "cpu": 0.2})),
		at(4, pod("a", "Running", "n1")),
		at(10, pod("a", "Succeeded", "n1")),
		at(10, job("a", "Complete")),
		at(10, pod("b", "Scheduled", "n1")),
		at(12, pod("b", "Running", "n1")),
		at(16, pod("b", "Failed", "n1")),
		at(16, job("b", "Failed")),
		at(18, pod("a", "Deleted", "n1")),
		at(18, pod("c", "Pending", "")),
		at(20, record.Record{Kind: "Node", Name: "n1", To: "Deleted"}),
	}
}

func TestMetricsOfAHistory(t *testing.T) {
	for name, want := range map[string][]float64{
		"scheduling latency":             {0, 8},
		"dispatch time":                  {0, 1},
		"response time":                  {10, 15},
		"job completion time":            {10, 14},
		"time of Pod in Running":         {4, 6},
		"time of Pod in Scheduled":       {2, 4},
		"time of Job.batch in Suspended": {1},
		"time of Pod in Pending":         {0, 8},
	} {
		m, ok := measure.Named(name)
		require.True(t, ok, name)
		require.Equal(t, name, m.Name)
		require.Equal(t, want, m.Sample(history()).Values(), name)
	}
	for _, name := range []string{"", "pending", "time of Pod", "time of Pod in ", "time of  in Pod", "use of ", "number of in"} {
		_, ok := measure.Named(name)
		require.False(t, ok, name)
	}
}

func TestMetricsOverTime(t *testing.T) {
	for name, want := range map[string]string{
		"pending pods":             "0:0 2:1 10:0 18:1 20:1",
		"number of Pod in Running": "0:0 4:1 10:0 12:1 16:0 20:0",
		"use of gpu":               "0:8 10:4 16:0 20:0",
		"use of cpu":               "0:0.1 10:0.2 16:0 20:0",
		"capacity of gpu":          "0:8 20:0",
		"utilization of gpu":       "0:1 10:0.5 16:0 20:0",
		"use of nothing":           "0:0 20:0",
	} {
		m, ok := measure.Named(name)
		require.True(t, ok, name)
		got := ""
		for _, p := range m.Series(history()) {
			got += fmt.Sprintf(" %v:%v", p.Time.Sub(start).Seconds(), p.Value)
		}
		require.Equal(t, " "+want, got, name)
		require.Empty(t, m.Series(nil), name)
		require.Zero(t, m.Sample(nil).Count(), name)
	}
	use := measure.Use("gpu").Series(history())
	require.Equal(t, 8.0, use.At(start.Add(9*time.Second)))
	require.Equal(t, 4.0, use.At(start.Add(10*time.Second)))
	require.Zero(t, use.At(start.Add(-time.Second)))
	require.InDelta(t, (10*8+6*4)/20.0, use.Sample().Mean(), 1e-12, "the mean over time")
}

func TestFractionsAddUpExactly(t *testing.T) {
	var log record.Log
	for i := range 10 {
		log = append(log, at(float64(i), with(pod(fmt.Sprint(i), "Scheduled", "n1"), record.Amounts{"cpu": 0.1})))
	}
	series := measure.Use("cpu").Series(log)
	require.Equal(t, 1.0, series[len(series)-1].Value)
}

func TestObjectsOfTheSameNameAreNotTheSame(t *testing.T) {
	again := pod("a", "Scheduled", "n1")
	again.UID = "other"
	log := record.Log{at(0, pod("a", "Pending", "")), at(1, pod("a", "Deleted", "")), at(2, again)}
	require.Equal(t, []float64{0}, measure.SchedulingLatency().Sample(log).Values())
}

func TestStatistics(t *testing.T) {
	s := measure.NewSample(4, 1, 3, 2)
	for share, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.5: 2, 0.75: 3, 0.9: 4, 1: 4} {
		require.Equal(t, want, s.Quantile(share), share)
	}
	require.Equal(t, 2.5, s.Mean())
	require.InDelta(t, math.Sqrt(1.25), s.StdDev(), 1e-12)
	require.Equal(t, measure.Summary{Count: 4, Mean: 2.5, StdDev: s.StdDev(), Min: 1, Median: 2, P90: 4, P95: 4, P99: 4, Max: 4}, s.Summary())

	over := measure.Series{{Time: start, Value: 10}, {Time: start.Add(9 * time.Second), Value: 0}, {Time: start.Add(10 * time.Second), Value: 99}}.Sample()
	require.Equal(t, 9.0, over.Mean())
	require.Equal(t, 3.0, over.StdDev())
	require.Equal(t, 0.0, over.Quantile(0.1))
	require.Equal(t, 10.0, over.Quantile(0.11))
	require.Equal(t, 10.0, over.Max(), "99 lasted no time")

	var none measure.Sample
	require.Zero(t, none.Count())
	for _, v := range []float64{none.Mean(), none.StdDev(), none.Min(), none.Max(), none.Quantile(0.5), s.Quantile(math.NaN())} {
		require.True(t, math.IsNaN(v))
	}
}

func TestRunsAreCompared(t *testing.T) {
	slower := history()
	for i := range slower {
		slower[i].Time = start.Add(2 * slower[i].Time.Sub(start))
	}
	compared := measure.Compare(history(), slower, measure.ResponseTime(), measure.PendingPods(), measure.TimeIn("Pod", "Lost"))
	require.Equal(t, 12.5, compared[0].Difference)
	require.Equal(t, 2.0, compared[0].Ratio)
	require.Equal(t, "response time: mean 12.5 → 25 (+12.5, x2), p99 15 → 30, n 2 → 2, p 0.097", compared[0].String())
	require.True(t, math.IsNaN(compared[1].P))
	require.True(t, math.IsNaN(compared[2].P))
}

// TestPValuesAreLikeUniformOnes compares samples of one distribution: a share of 5 % of them may
// differ at the level of 5 %. The test distinguishes samples that differ by a shift.
func TestPValuesAreLikeUniformOnes(t *testing.T) {
	const runs, n = 200, 100
	draws := load.MustNew(1, "draws", load.Exponential{Mean: 10})
	run := func(shift float64) record.Log {
		var log record.Log
		for i := range n {
			name := fmt.Sprint(i)
			log = append(log, at(0, job(name, "Pending")), at(draws.Next()+shift, job(name, "Complete")))
		}
		return log
	}
	differ, apart := 0, 0
	for range runs {
		if measure.Compare(run(0), run(0), measure.ResponseTime())[0].P < 0.05 {
			differ++
		}
		if measure.Compare(run(0), run(5), measure.ResponseTime())[0].P < 0.05 {
			apart++
		}
	}
	require.InDelta(t, 0.05, float64(differ)/runs, 0.04)
	require.Greater(t, float64(apart)/runs, 0.9)
}
