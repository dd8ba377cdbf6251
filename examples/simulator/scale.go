package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// scale takes very many Pods through the scheduler and the general lifecycle.
func scale(ctx context.Context, o options, c *clock) (*report.Report, error) {
	l, err := newLab(ctx, setting{seed: o.seed, nodes: o.nodes, stages: presets.PodGeneral()})
	if err != nil {
		return nil, err
	}
	for i := range o.pods {
		if err := l.create(ctx, "pod", i+1); err != nil {
			return nil, err
		}
	}
	for went := true; went; {
		if went, err = l.step(ctx, c, fmt.Sprintf("%d Pods", o.pods)); err != nil {
			return nil, err
		}
	}
	c.progress.end()
	return &report.Report{Title: "x", Parameters: []report.Parameter{{Name: "a", Value: strconv.Itoa(len(l.log))}}}, nil
}

func (l *lab) writeLog(name, run string) error { return nil }
