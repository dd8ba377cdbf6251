package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/stagecraft-go/stagecraft/examples/simulator/openb"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/statistics"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// An openbFigure is a kind of metric of the study: a figure at several arrived shares.
type openbFigure struct {
	name    string
	of      func(*openb.Result) []float64
	checked []int // the arrived shares that are in the table, in per cent
}

var openbFigures = []openbFigure{
	{"allocation", func(r *openb.Result) []float64 { return r.Allocation }, []int{100, 130}},
	{"fragmentation", func(r *openb.Result) []float64 { return r.Fragmentation }, []int{50, 90, 100, 120}},
}

// metric is the name of the metric at an arrived share.
func (f openbFigure) metric(arrived int) string { return fmt.Sprintf("%s at %d", f.name, arrived) }

// openbShares are the arrived shares of the charts, in per cent.
func openbShares() (shares []int) {
	for s := 10; s <= 130; s += 10 {
		shares = append(shares, s)
	}
	return shares
}

// openbSweep is each policy with each seed.
func openbSweep(t *openb.Trace) sweep.Study {
	s := sweep.Study{Name: "openb 1", Parameters: []sweep.Parameter{{Name: "policy", Values: openb.Policies()}}}
	for _, f := range openbFigures {
		for _, a := range openbShares() {
			s.Metrics = append(s.Metrics, f.metric(a))
		}
	}
	s.Run = func(ctx context.Context, r sweep.Run) (values []float64, err error) {
		result, err := t.Run(ctx, r.Value("policy"), openb.FirstSeed-1+int64(r.Seed))
		if err != nil {
			return nil, err
		}
		for _, f := range openbFigures {
			for _, a := range openbShares() {
				values = append(values, f.of(result)[a])
			}
		}
		return values, nil
	}
	return s
}

// openbStudy repeats the experiment of "Beware of Fragmentation" and compares it with the published
// results.
func openbStudy(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	folder := o.data
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("-data %s: there is no such folder; want one with the files that are published at %s", folder, openb.Published)
	}
	trace, err := openb.Read(folder)
	if err != nil {
		return nil, err
	}
	published, err := openb.ReadPublished(folder, openbShares()...)
	if err != nil {
		return nil, err
	}
	title := "openb: where Pods are placed decides how many GPUs are wasted"
	study := openbSweep(trace)
	result, err := runSweep(ctx, o, c, study)
	if err != nil || o.shard.Count > 1 {
		return partOf(title, o), err
	}
	r := openbReport{result, study, published, o.seeds}
	table, err := r.table()
	if err != nil {
		return nil, err
	}
	charts, err := r.charts()
	if err != nil {
		return nil, err
	}
	return &report.Report{
		Title: title,
		Lead: "The Pods of the openb trace, in random order, on its 1,213 nodes with 6,212 GPUs, until they have asked for 130 % of them: how much of the GPUs " +
			"is allocated, and how much is idle but of no use to typical Pods, as published with FGD (USENIX ATC '23) and as simulated here. examples/simulator/openb/METHOD.md says how.",
		Parameters: []report.Parameter{
			{Name: "seeds", Value: fmt.Sprintf("%d to %d, those of the published runs are 42 to 51", openb.FirstSeed, openb.FirstSeed-1+o.seeds)},
			{Name: "nodes", Value: fmt.Sprint(len(trace.Nodes))},
			{Name: "Pods", Value: fmt.Sprintf("%d, and copies of them", len(trace.Pods))},
		},
		Sections: []report.Section{{Tables: []report.Table{table}, Charts: charts}},
	}, nil
}

// An openbReport has the simulated and the published results.
type openbReport struct {
	*sweep.Result
	study     sweep.Study
	published map[openb.PublishedRun]*openb.Result
	seeds     int
}

// table compares the means, and the runs with the same seed.
func (r openbReport) table() (report.Table, error) {
	t := report.Table{
		Head: []string{"% of all GPUs", "published", "simulated", "±", "seeds", "difference", "largest of a seed", "fitted"},
		Note: "At an arrived share in per cent of all GPUs. Intervals of 95 %, of Student's distribution. Nothing is fitted; which of the random orders a seed gives depends on an integer that was found by comparing, see METHOD.md. The runs of Random cannot be repeated one by one.",
	}
	for _, policy := range openb.Policies() {
		for _, f := range openbFigures {
			for _, a := range f.checked {
				i, err := r.estimate(policy, f.metric(a))
				if err != nil {
					return t, err
				}
				published := statistics.Mean(0.95, r.publishedValues(policy, f, a)...).Mean
				t.Rows = append(t.Rows, []string{
					policy + ": " + f.metric(a), fmt.Sprintf("%.2f", published), fmt.Sprintf("%.2f", i.Mean), fmt.Sprintf("%.2f", i.Half()), fmt.Sprint(i.Count),
					fmt.Sprintf("%+.3f", i.Mean-published), fmt.Sprintf("%.3f", r.largestDifference(policy, f, a)), "no",
				})
			}
		}
	}
	return t, nil
}

func (r openbReport) estimate(policy, metric string) (statistics.Interval, error) {
	p, err := r.study.Point(policy)
	if err != nil {
		return statistics.Interval{}, err
	}
	return r.Estimate(0.95, p, metric)
}

// publishedValues are the published values of the seeds.
func (r openbReport) publishedValues(policy string, f openbFigure, arrived int) (values []float64) {
	for seed := range int64(r.seeds) {
		if p := r.published[openb.PublishedRun{Policy: policy, Seed: openb.FirstSeed + seed}]; p != nil {
			values = append(values, f.of(p)[arrived])
		}
	}
	return values
}

// largestDifference is the largest difference between a simulated run and the published run with
// the same seed.
func (r openbReport) largestDifference(policy string, f openbFigure, arrived int) (largest float64) {
	for _, row := range r.Rows() {
		if row.Run.Value("policy") != policy || row.Metric != f.metric(arrived) {
			continue
		}
		if p := r.published[openb.PublishedRun{Policy: policy, Seed: openb.FirstSeed - 1 + int64(row.Run.Seed)}]; p != nil {
			largest = max(largest, math.Abs(row.Value-f.of(p)[arrived]))
		}
	}
	return largest
}

// charts show the figures over the arrived share.
func (r openbReport) charts() (charts []report.Chart, err error) {
	for _, f := range openbFigures {
		var series []report.Series
		for _, policy := range openb.Policies() {
			s := report.Series{Name: policy}
			for _, a := range openbShares() {
				i, err := r.estimate(policy, f.metric(a))
				if err != nil {
					return nil, err
				}
				s.Points = append(s.Points, report.Point{X: float64(a), Y: i.Mean, Half: i.Half()})
			}
			series = append(series, s)
		}
		c := report.Lines("openb-"+f.name, f.name+", % of all GPUs", series...)
		c.X, c.Y, c.Wide = "asked for so far, % of all GPUs", "%", true
		charts = append(charts, c)
	}
	return charts, nil
}
