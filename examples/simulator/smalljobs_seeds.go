package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// smallMetric is the metric of the sweep of small Jobs: the seconds of the study's script.
const smallMetric = "seconds"

// smallSweep is each cell of the table, for several seeds: seed 1 of the sweep is -seed.
func smallSweep(o options) sweep.Study {
	s := sweep.Study{Name: fmt.Sprintf("small-jobs 1, %d nodes, seeds from %d", o.nodes, o.seed), Metrics: []string{smallMetric}}
	scenarios, jobs := sweep.Parameter{Name: "scenario"}, sweep.Parameter{Name: "jobs"}
	byName := map[string]scenario{}
	for _, w := range smallScenarios {
		scenarios.Values, byName[w.name] = append(scenarios.Values, w.name), w
	}
	for _, n := range o.jobs {
		jobs.Values = append(jobs.Values, strconv.Itoa(n))
	}
	s.Parameters = []sweep.Parameter{scenarios, jobs}
	s.Run = func(ctx context.Context, r sweep.Run) ([]float64, error) {
		one := o
		one.seed, one.log = o.seed+r.Seed-1, ""
		n, err := strconv.Atoi(r.Value("jobs"))
		if err != nil {
			return nil, err
		}
		run, err := runSmallJobs(ctx, one, byName[r.Value("scenario")], n, &studyClock{progress: &progress.Line{}})
		if err != nil {
			return nil, err
		}
		return []float64{float64(run.seconds)}, nil
	}
	return s
}
