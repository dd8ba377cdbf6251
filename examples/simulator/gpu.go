package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation/load"
)

// gpuOptions are equally likely: how many GPUs each Pod of a Job asks for. A node has eight.
var gpuOptions = load.Values{2, 4, 6, 8}

var gpuWays = []way{
	{"default scheduler", straight, func() []reconcile.Controller { return nil }},
	{"MCAD", queued, func() []reconcile.Controller { return mcad.Queue(mcad.QueueOptions{Rest: dispatch}) }},
	{"MCAD + gangs", queuedGang, func() []reconcile.Controller {
		return append(mcad.Queue(mcad.QueueOptions{Rest: dispatch}), mcad.Coscheduler())
	}},
}

// gpu is the performance test of the study: the same Jobs in three ways.
func gpu(ctx context.Context, o options, c *clock) (*report.Report, error) {
	var runs []*gpuRun
	for _, w := range gpuWays {
		l, err := newLab(ctx, setting{seed: o.seed, nodes: o.nodes, stages: stage.Parse("stages.yaml", stagesYAML), more: w.more()})
		if err != nil {
			return nil, err
		}
		if err := l.runGPU(ctx, o, w, c); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		runs = append(runs, &gpuRun{lab: l, name: w.name})
	}
	c.progress.end()
	return gpuReport(o, runs), nil
}

// runGPU submits the Jobs at their times and waits until all are complete. The draws do not depend on the way.
func (l *lab) runGPU(ctx context.Context, o options, w way, c *clock) error {
	gaps := load.MustNew(o.seed, "gaps", load.Exponential{Mean: o.gap.Seconds()})
	sizes := load.MustNew(o.seed, "sizes", load.Exponential{Mean: o.size.Seconds()})
	gpus := load.MustNew(o.seed, "gpus", gpuOptions)
	n := o.jobs[0]
	load.Play(l, gaps.Arrivals(n), func(ctx context.Context, i int) error {
		return w.door(ctx, l, job{Name: "job-" + strconv.Itoa(i+1), Pods: o.pods, GPUs: int(gpus.Next()), Sleep: sizes.Duration()})
	})
	for went := true; went; {
		var err error
		if went, err = l.step(ctx, c, w.name); err != nil {
			return err
		}
	}
	done, err := l.complete(ctx)
	if err != nil {
		return err
	}
	if done < n {
		return fmt.Errorf("%d of %d Jobs never complete", n-done, n)
	}
	return l.writeLog(o.log, w.name)
}

type gpuRun struct {
	*lab
	name string
}

func gpuReport(o options, runs []*gpuRun) *report.Report { return &report.Report{} }
