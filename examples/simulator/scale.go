package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation/measure"
	"github.com/stagecraft-go/stagecraft/stage/simulation/record"
)

// scale takes very many Pods, which are there from the start, through the scheduler and the general lifecycle until they are ready.
func scale(ctx context.Context, o options, c *clock) (*report.Report, error) {
	l, err := newLab(ctx, setting{
		name: fmt.Sprintf("%d Pods on %d nodes", o.pods, o.nodes), seed: o.seed, nodes: o.nodes, stages: presets.PodGeneral(),
		goal: goal{"Pod", record.Ready, o.pods},
	})
	if err != nil {
		return nil, err
	}
	for i := range o.pods {
		if err := l.create(ctx, "pod", i+1); err != nil {
			return nil, err
		}
	}
	if err := l.play(ctx, c, never); err != nil {
		return nil, err
	}
	c.progress.end()
	return scaleReport(o, l), nil
}

func scaleReport(o options, l *lab) *report.Report {
	scheduling := measure.SchedulingLatency()
	ready := measure.Between("time to ready", "Pod", nil, measure.In(record.Ready))
	t := report.Table{Title: "seconds since creation", Head: summaryHead()}
	var values []report.Series
	for _, m := range []measure.Metric{scheduling, ready} {
		s := m.Sample(l.log)
		t.Rows = append(t.Rows, summaryRow(m.Name, s.Summary()))
		values = append(values, report.Sample(m.Name, s.Values()))
	}
	cdf := report.CDF("time-to-ready", "Seconds since creation", values...)
	cdf.X, cdf.Y = "seconds", "share"
	pods := overTime("ready-pods", "Ready Pods", measure.NumberIn("Pod", record.Ready), []*lab{l})
	return &report.Report{
		Title: "Very many Pods",
		Lead:  "Pods that are all there from the start go through the scheduler and the general lifecycle of kwok until they are ready.",
		Parameters: []report.Parameter{
			{Name: "seed", Value: strconv.FormatUint(o.seed, 10)},
			{Name: "Pods", Value: strconv.Itoa(o.pods)},
			{Name: "nodes", Value: strconv.Itoa(o.nodes)},
			{Name: "Stages", Value: "node-fast, pod-general"},
			{Name: "transitions", Value: strconv.Itoa(len(l.log))},
		},
		Sections: []report.Section{{Tables: []report.Table{t}, Charts: []report.Chart{cdf, pods}}},
	}
}
