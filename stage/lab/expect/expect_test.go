package expect_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/expect"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// history is ten Pods that are created at the start and bound after 1s, 2s …; no Job.
func history() record.Log {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var log record.Log
	for i := range 10 {
		log = append(log, record.Record{Time: start, Kind: "Pod", Name: fmt.Sprint(i), To: "Pending"})
	}
	for i := range 10 {
		log = append(log, record.Record{Time: start.Add(time.Duration(i+1) * time.Second), Kind: "Pod", Name: fmt.Sprint(i), To: "Scheduled", Node: "n1"})
	}
	return log
}

func TestAssertions(t *testing.T) {
	for text, want := range map[string]string{
		"count(scheduling latency) == 10":                        "",
		"p90(scheduling latency) < 9.001s":                       "",
		" 5.4s<mean( scheduling  latency )<=5.6s ":               "",
		"p99.9(scheduling latency) >= 10000ms":                   "",
		"min(scheduling latency) > 0":                            "",
		"0 != median(scheduling latency)":                        "",
		"mean(pending pods) == 5.5":                              "",
		"max(pending pods) <= 1000%":                             "",
		"p50(scheduling latency) < p90(scheduling latency)":      "",
		"count(response time) == 0":                              "",
		"stddev(scheduling latency) < 3s":                        "",
		"p0(time of Pod in Pending) == 1s":                       "",
		"mean(scheduling latency) < 2s":                          "mean(scheduling latency) < 2s: mean(scheduling latency) is 5.5s",
		"1s < p50(scheduling latency) < min(scheduling latency)": "1s < p50(scheduling latency) < min(scheduling latency): p50(scheduling latency) is 5s, min(scheduling latency) is 1s",
		"6 <= mean(pending pods) < 7":                            "6 <= mean(pending pods) < 7: mean(pending pods) is 5.5",
		"mean(response time) < 1h":                               "mean(response time) < 1h: mean(response time) has no values",
		"mean(number of Job.batch in Running) == mean(own)":      "mean(number of Job.batch in Running) == mean(own): mean(number of Job.batch in Running) is 0, mean(own) is 5.5",
	} {
		a, err := expect.Parse(text, measure.OverTime("own", func(r record.Record) bool { return r.To == "Pending" }))
		require.NoError(t, err, text)
		if err = a.Check(history()); want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want)
		}
	}
}

func TestFaultsOfAssertionsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                              `1: want a value, such as 2s or p99(scheduling latency)`,
		"mean(pending pods)":            `19: want a comparison, as in mean(pending pods) < 1`,
		"mean(pending pods) <":          `21: want a value, such as 2s or p99(scheduling latency)`,
		"mean(pending pods) =< 2":       `20: want <, <=, >, >=, == or !=`,
		"mean(pending pods) 2":          `20: want <, <=, >, >=, == or !=`,
		"mean(pending pods) < 2s":       `22: want a number, 2s is a duration`,
		"mean(scheduling latency) < 2":  `28: want a duration such as 2s, 2 is a number`,
		"0 < count(response time) < 2s": `28: want a number, 2s is a duration`,
		"mean(schedling latency) < 2s":  `6: no metric "schedling latency" (is "scheduling latency" meant?)`,
		"mean(owm) < 2":                 `6: no metric "owm" (is "own" meant?)`,
		"mean(x) < 2":                   `6: no metric "x"`,
		"2s > meen(x)":                  `6: no statistic "meen" (is "mean" meant?); there are count, mean, stddev, min, max, median, and quantiles such as p99`,
		"p101(response time) < 2s":      `1: no statistic "p101"; there are count, mean, stddev, min, max, median, and quantiles such as p99`,
		"p99(response time < 2s":        `4: the bracket is not closed`,
		"p99(response time) < soon":     `22: "soon" is no number, percentage or duration`,
		"p99(response time) < NaN":      `22: "NaN" is no number, percentage or duration`,
		"(response time) < 2s":          `1: want a value, such as 2s or p99(scheduling latency)`,
	} {
		_, err := expect.Parse(text, measure.OverTime("own", func(record.Record) bool { return true }))
		require.EqualError(t, err, fmt.Sprintf("%q:%s", text, want))
		fault := new(expect.ParseError)
		require.ErrorAs(t, err, &fault)
	}
}

func TestRanges(t *testing.T) {
	r := expect.Range{Metric: measure.SchedulingLatency(), Statistic: measure.Sample.Mean, Min: 5, Max: math.Inf(1)}
	require.NoError(t, r.Check(history()))
	r = expect.Range{Metric: measure.SchedulingLatency(), Statistic: expect.Quantile(0.9), Max: 2}
	require.EqualError(t, r.Check(history()), "scheduling latency: want 0 to 2, got 9")
	require.EqualError(t, r.Check(nil), "scheduling latency: there are no values")
	var _ expect.Assertion = r
}

// tester notes what a test is told.
type tester struct{ said string }

func (*tester) Helper() {}

func (s *tester) Fatalf(format string, args ...any) { s.said += fmt.Sprintf(format, args...) }

func TestRequireTellsAll(t *testing.T) {
	expect.Require(t, history(), "p99(scheduling latency) <= 10s", "count(scheduling latency) == 10")
	s := &tester{}
	expect.Require(s, history(), "p99(scheduling latency) < 10s", "p99(scheduling latency) < 11s", "mean(nothing) < 1")
	require.Equal(t, "p99(scheduling latency) < 10s: p99(scheduling latency) is 10s\n\"mean(nothing) < 1\":6: no metric \"nothing\"", s.said)
}

func FuzzParse(f *testing.F) {
	f.Add("1 <= p99.9(scheduling latency) < 2s")
	f.Add("max(utilization of nvidia.com/gpu) <= 100%")
	f.Add("0 != (")
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := expect.Parse(text); err == nil {
			_ = a.Check(history())
		} else if fault := new(expect.ParseError); true {
			require.ErrorAs(t, err, &fault)
			require.LessOrEqual(t, fault.Column, len(text)+1)
		}
	})
}

func TestMetricsOfOnesOwn(t *testing.T) {
	log := record.Log{
		{Time: time.Unix(0, 0), Kind: "Workload.x", Name: "a", To: "Pending"},
		{Time: time.Unix(8, 0), Kind: "Workload.x", Name: "a", From: "Pending", To: "Admitted"},
		{Time: time.Unix(9, 0), Kind: "Workload.x", Name: "b", To: "Pending"},
		{Time: time.Unix(10, 0), Kind: "Workload.x", Name: "b", From: "Pending", To: "Admitted"},
	}
	own := expect.Metrics{measure.Between("queue time", "Workload.x", nil, measure.In("Admitted"))}
	own.Require(t, log, "max(queue time) == 8s", "max(queue time from 5s) == 1s", "count(queue time from 5s to 9s) == 0", "count(response time) == 0")
	_, err := expect.Parse("max(queue tine) == 8s", own...)
	require.ErrorContains(t, err, `is "queue time" meant?`)
}
