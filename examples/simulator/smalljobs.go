package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	// submission is how long one kubectl apply took in the study: the slope of its kwok row.
	submission = 183 * time.Millisecond
	// dispatch is how long its dispatcher was busy with an AppWrapper: the slope of its MCAD row. The study says of itself: about a second.
	dispatch = 1193 * time.Millisecond
	// poll is how often its script asked how many Jobs are complete.
	poll = time.Second
	// shortSleep is what each Job does.
	shortSleep = 10 * time.Second
)

// measured is what the study reports, in seconds, by the number of Jobs. Nothing is computed from it: it stands beside what is simulated.
var measured = map[string]map[int]int{
	"kind":      {1: 23, 10: 23, 20: 27, 50: 33, 75: 41, 100: 49},
	"kwok":      {1: 23, 10: 23, 20: 25, 50: 31, 75: 36, 100: 40},
	"kwok+MCAD": {1: 23, 10: 31, 20: 44, 50: 82, 75: 118, 100: 135},
}

// A way is one of the set-ups that are compared.
type way struct {
	name string
	door door
	more func() []reconcile.Controller // beside those of each lab
}

var smallWays = []way{
	{"kwok", straight, func() []reconcile.Controller { return nil }},
	{"kwok+MCAD", queued, func() []reconcile.Controller { return mcad.Queue(mcad.QueueOptions{Rest: dispatch}) }},
}

// smallJobs is the stress test of the study: how long it takes until N small Jobs are complete.
func smallJobs(ctx context.Context, o options, c *clock) (*report.Report, error) {
	outcomes := map[string]map[int]*race{}
	for _, w := range smallWays {
		outcomes[w.name] = map[int]*race{}
		for _, n := range o.jobs {
			r, err := runRace(ctx, o, w, n, c)
			if err != nil {
				return nil, fmt.Errorf("%s, %d Jobs: %w", w.name, n, err)
			}
			outcomes[w.name][n] = r
		}
	}
	c.progress.end()
	return smallReport(o, outcomes), nil
}

// A race is one run: N Jobs, submitted one after another, until all are complete.
type race struct {
	*lab
	seconds int // as the script of the study counts
}

func runRace(ctx context.Context, o options, w way, n int, c *clock) (*race, error) {
	l, err := newLab(ctx, setting{seed: o.seed, nodes: o.nodes, stages: stage.Parse("stages.yaml", stagesYAML), more: w.more()})
	if err != nil {
		return nil, err
	}
	r := &race{lab: l}
	for i := range n {
		l.At(l.start.Add(time.Duration(i+1)*submission), func(ctx context.Context) error {
			return w.door(ctx, l, job{Name: fmt.Sprintf("job-%d", i+1), Pods: 1, Sleep: shortSleep})
		})
	}
	r.poll(l.start.Add(time.Duration(n)*submission), n)
	name := fmt.Sprintf("%s %d", w.name, n)
	for r.seconds == 0 {
		if went, err := l.step(ctx, c, name); err != nil || !went {
			return r, err
		}
	}
	return r, l.writeLog(o.log, name)
}

// poll asks at a time, and then again and again, whether all Jobs are complete. The script's clock shows whole seconds.
func (r *race) poll(at time.Time, n int) {
	r.At(at, func(ctx context.Context) error {
		done, err := r.complete(ctx)
		if err != nil {
			return err
		}
		if done < n {
			r.poll(at.Add(poll), n)
			return nil
		}
		r.seconds = int(at.Sub(r.start) / time.Second)
		return nil
	})
}

func smallReport(o options, outcomes map[string]map[int]*race) *report.Report {
	t := report.Table{Head: []string{"seconds until N Jobs are complete"}, Note: "kind: real nodes, not simulated."}
	for _, n := range o.jobs {
		t.Head = append(t.Head, strconv.Itoa(n))
	}
	var series []report.Series
	row := func(name string, seconds func(n int) (int, bool)) {
		cells, s := []string{name}, report.Series{Name: name}
		for _, n := range o.jobs {
			v, known := seconds(n)
			if !known {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, strconv.Itoa(v))
			s.Points = append(s.Points, report.Point{X: float64(n), Y: float64(v)})
		}
		t.Rows, series = append(t.Rows, cells), append(series, s)
	}
	for _, name := range []string{"kind", "kwok", "kwok+MCAD"} {
		row(name+", measured", func(n int) (int, bool) { v, known := measured[name][n]; return v, known })
		if runs := outcomes[name]; runs != nil {
			row(name+", simulated", func(n int) (int, bool) { return runs[n].seconds, true })
		}
	}
	chart := report.Lines("seconds", "Seconds until all Jobs are complete", series...)
	chart.X, chart.Y = "Jobs", "seconds"
	return &report.Report{
		Title: "Stress test with small Jobs",
		Lead:  "One Pod a Job, which sleeps for ten seconds, on fake nodes: how long it takes until N of them are complete, as the KWOK/MCAD study measured it and as it is simulated here.",
		Parameters: []report.Parameter{
			{Name: "seed", Value: strconv.FormatUint(o.seed, 10)},
			{Name: "nodes", Value: strconv.Itoa(o.nodes)},
			{Name: "Pod created", Value: "U[0.1, 0.5] s"},
			{Name: "Pod ready", Value: "U[10, 11] s"},
			{Name: "sleep", Value: shortSleep.String()},
			{Name: "submissions apart", Value: submission.String()},
			{Name: "Job controller gathers for", Value: batch.String()},
			{Name: "dispatches apart (MCAD)", Value: dispatch.String()},
			{Name: "polls apart", Value: poll.String()},
		},
		Sections: []report.Section{{Tables: []report.Table{t}, Charts: []report.Chart{chart}}},
	}
}
