package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/queues"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// sweepFlags are the flags of studies that are sweeps.
var sweepFlags = []string{"seeds", "workers", "results", "shard", "merge", "table", "stop"}

// runSweep runs a study, or the part of it that the flags ask for, or merges the results of its
// parts, and writes the table.
func runSweep(ctx context.Context, o options, c *studyClock, s sweep.Study) (*sweep.Result, error) {
	s.Seeds, s.Stop = o.seeds, o.stop
	result, err := merged(s, o.merge)
	if o.merge == "" {
		result, err = sweep.Do(ctx, s, sweep.Options{File: o.results, Workers: o.workers, Shard: o.shard, Progress: c.countRuns})
	}
	c.progress.End()
	if err == nil && o.table != "" {
		err = record.WriteFile(o.table, result.WriteCSV)
	}
	return result, err
}

func merged(s sweep.Study, files string) (*sweep.Result, error) {
	if files == "" {
		return nil, nil
	}
	return sweep.Merge(s, strings.Split(files, ",")...)
}

// countRuns shows how far a sweep is.
func (c *studyClock) countRuns(p sweep.Progress) {
	c.runs = p.Done - p.Found
	if now := time.Now(); c.progress.Due(now) {
		left := time.Duration(float64(now.Sub(c.began)) * float64(p.All-p.Done) / float64(max(c.runs, 1)))
		c.progress.Show(now, fmt.Sprintf("%s runs, %s left, last %s", progress.Bar(p.Done, p.All), left.Round(time.Second), p.Last))
	}
}

// partOf is the report of a part of a sweep, without estimates, because they would be based on a
// few seeds.
func partOf(title string, o options) *report.Report {
	return &report.Report{Title: title, Parameters: []report.Parameter{
		{Name: "part", Value: o.shard.String()},
		{Name: "results", Value: o.results},
		{Name: "to read all parts", Value: "-merge " + o.results + ",…"},
	}}
}

// queueRun is one run of the study of queues: 20,000 customers are enough for a load of 0.8.
var queueRun = queues.Run{Warmup: 2000, Customers: 20_000}

func queueModels() (names []string) {
	for _, m := range queues.Models() {
		names = append(names, m.Name)
	}
	return names
}

// knownQueues compares simulated queues with theory.
func knownQueues(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	title := "Queues with known answers"
	result, err := runSweep(ctx, o, c, queues.Study(queueModels(), []float64{0.5, 0.8}, queueRun))
	if err != nil || o.shard.Count > 1 {
		return partOf(title, o), err
	}
	t := report.Table{Head: []string{"mean waiting time, s", "theory", "simulated", "±", "seeds", "in the interval", "fitted"}, Note: "Nothing is fitted. Intervals of 95 %, of Student's distribution."}
	var errors []report.Series
	for _, e := range result.Estimates(0.95) {
		if want, ok := queues.Answer(e); ok {
			errors = append(errors, report.Series{Name: e.Point.Value("model") + " " + e.Point.Value("load") + ": " + e.Metric, Points: []report.Point{{Y: 100 * (e.Mean/want - 1), Half: finite(100 * e.Half() / want)}}})
			t.Rows = append(t.Rows, []string{e.Point.String() + ": " + e.Metric, fmt.Sprintf("%.4f", want), fmt.Sprintf("%.4f", e.Mean), halfText("%.4f", e.Half()), strconv.Itoa(e.Count), yesNo(e.Contains(want)), "no"})
		}
	}
	chart := report.Intervals("errors", "Simulated, compared with theory", errors...)
	chart.X = "%, with intervals of 95 %"
	return &report.Report{
		Title:      title,
		Lead:       "Customers at random times at one station: their mean waiting time as theory has it, and as it is simulated. Little's law holds in each run, to the nanosecond, or the study fails.",
		Parameters: queueParameters(o, queueRun),
		Sections:   []report.Section{{Tables: []report.Table{t}, Charts: []report.Chart{chart}}},
	}, nil
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func queueParameters(o options, r queues.Run) []report.Parameter {
	return []report.Parameter{
		{Name: "customers of a run", Value: strconv.Itoa(r.Customers)},
		{Name: "the first that do not count", Value: strconv.Itoa(r.Warmup)},
		{Name: "seeds", Value: strconv.Itoa(o.seeds)},
	}
}

// coverageRun is shorter: there are 25,000 of them.
var coverageRun = queues.Run{Warmup: 100, Customers: 2100}

// coverage counts how many of 1,000 small sweeps have intervals that contain the theoretical value.
func coverage(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	title := "Do intervals of 95 % contain the known answers of queues?"
	result, err := runSweep(ctx, o, c, queues.Coverage(queueModels(), 1000, coverageRun))
	if err != nil || o.shard.Count > 1 {
		return partOf(title, o), err
	}
	t := report.Table{Head: []string{"of sweeps with load 0.5", "sweeps", "contain the answer", "per cent"}, Note: "95 % of them should; of 1,000, 93.6 to 96.4 % is within two standard deviations of that."}
	for _, n := range queues.Count(result.Estimates(0.95)) {
		t.Rows = append(t.Rows, []string{n.Model + ": " + n.Metric, strconv.Itoa(n.Sweeps), strconv.Itoa(n.Contained), fmt.Sprintf("%.1f", 100*float64(n.Contained)/float64(n.Sweeps))})
	}
	return &report.Report{Title: title, Parameters: queueParameters(o, coverageRun), Sections: []report.Section{{Tables: []report.Table{t}}}}, nil
}
