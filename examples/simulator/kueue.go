package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/stagecraft-go/stagecraft/examples/simulator/kueue"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// kueueStudy compares simulated runs of Kueue's performance runner with the published results.
func kueueStudy(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	title, how := "Kueue's performance runner", kueue.Defaults()
	s, err := kueue.Study(filepath.Join(o.data, "kueue"), how)
	if err != nil {
		return nil, err
	}
	result, err := runSweep(ctx, o, c, s)
	if err != nil || o.shard.Count > 1 {
		return partOf(title, o), err
	}
	table, errors, err := kueueTable(s, result)
	if err != nil {
		return nil, err
	}
	return &report.Report{
		Title: title,
		Lead: "Workloads in ClusterQueues that share quota, on a control plane that does nothing else: what Kueue's own runs measured, and what is simulated. " +
			"Baseline fits one number, what a cycle of the scheduler takes for each Workload in it; the other runs are predictions with that number.",
		Parameters: []report.Parameter{
			{Name: "seeds", Value: strconv.Itoa(o.seeds)},
			{Name: "Kueue's client of kind Workload", Value: how.Workloads.String()},
			{Name: "a write takes", Value: fmt.Sprint(how.Write)},
			{Name: "watches are late by", Value: how.WatchDelay.String()},
			{Name: "what does not fit is tried again after", Value: how.Batch.String()},
			{Name: "a cycle takes for each Workload in it (fitted to baseline)", Value: how.Head.String()},
		},
		Sections: []report.Section{{Tables: []report.Table{table}, Charts: []report.Chart{errors}}},
	}, nil
}

// kueueTable compares the results, and draws the errors in per cent of the published values.
func kueueTable(s sweep.Study, result *sweep.Result) (t report.Table, c report.Chart, err error) {
	var errors []report.Series
	t = report.Table{
		Head: []string{"s; use in % of the quota", "published", "simulated", "±", "error", "fitted"},
		Note: "small, medium, large: mean time to admission of a class. Intervals of 95 %, of Student's distribution. Not modelled: what tas does to find places, and its writes.",
	}
	for _, p := range kueue.Results() {
		point, err := s.Point(p.Run)
		if err != nil {
			return t, c, err
		}
		e, err := result.Estimate(0.95, point, p.Metric)
		if err != nil {
			return t, c, err
		}
		errors = append(errors, report.Series{Name: p.Run + ": " + p.Metric, Points: []report.Point{{Y: 100 * (e.Mean/p.Value - 1), Half: finite(100 * e.Half() / p.Value)}}})
		fitted := "no"
		if p.Run == "baseline" {
			fitted = "by one number"
		}
		t.Rows = append(t.Rows, []string{p.Run + ": " + p.Metric, fmt.Sprintf("%.1f", p.Value), fmt.Sprintf("%.1f", e.Mean), halfText("%.1f", e.Half()), fmt.Sprintf("%+.1f %%", 100*(e.Mean/p.Value-1)), fitted})
	}
	c = report.Intervals("errors", "Simulated, compared with what is published", errors...)
	c.X = "%, with intervals of 95 %"
	return t, c, nil
}

// finite returns 0 for a value that cannot be drawn.
func finite(half float64) float64 {
	if math.IsInf(half, 0) {
		return 0
	}
	return half
}

// halfText is a dash for one seed, which says nothing about the error.
func halfText(format string, half float64) string {
	if math.IsInf(half, 0) {
		return "-"
	}
	return fmt.Sprintf(format, half)
}
