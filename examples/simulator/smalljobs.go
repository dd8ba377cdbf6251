package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// fittedJobs are the cells of the row of kwok+MCAD to which the rest of the dispatcher is fitted. The
// other cells are predictions.
var fittedJobs = []int{1, 10, 20, 50}

// dispatchTime is how long the dispatcher was busy with an AppWrapper: the slope of the fitted cells,
// by least squares. The study itself says about a second.
func dispatchTime() time.Duration {
	n, jobs, seconds := float64(len(fittedJobs)), 0.0, 0.0
	for _, j := range fittedJobs {
		jobs += float64(j) / n
		seconds += float64(measured["kwok+MCAD"][j]) / n
	}
	above, below := 0.0, 0.0
	for _, j := range fittedJobs {
		above += (float64(j) - jobs) * (float64(measured["kwok+MCAD"][j]) - seconds)
		below += (float64(j) - jobs) * (float64(j) - jobs)
	}
	return time.Duration(above / below * float64(time.Second)).Round(time.Millisecond)
}

const (
	// kubectlTime is what a kubectl process takes to submit a Job or to count complete Jobs: it
	// starts, and asks the API server for its kinds.
	kubectlTime = 100 * time.Millisecond
	// pollPause is how long its script slept between two looks at how many Jobs were complete.
	pollPause = time.Second
	// shortSleep is the work of each Job.
	shortSleep = 10 * time.Second
)

// measured are the measurements of the study, in seconds, by the number of Jobs. They are shown
// with the simulated values; only dispatchTime is computed from them.
var measured = map[string]map[int]int{
	"kind":      {1: 23, 10: 23, 20: 27, 50: 33, 75: 41, 100: 49},
	"kwok":      {1: 23, 10: 23, 20: 25, 50: 31, 75: 36, 100: 40},
	"kwok+MCAD": {1: 23, 10: 31, 20: 44, 50: 82, 75: 118, 100: 135},
}

// A scenario is one of the set-ups that are compared.
type scenario struct {
	name        string
	submit      submitFunc
	controllers func() []reconcile.Controller // in addition to those of each lab
}

var smallScenarios = []scenario{
	{"kwok", submitJob, func() []reconcile.Controller { return nil }},
	{"kwok+MCAD", submitQueued, func() []reconcile.Controller { return mcad.Queue(mcad.QueueOptions{Rest: dispatchTime()}) }},
}

// smallJobs is the stress test of the study: how long it takes until N small Jobs are complete.
func smallJobs(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	races := map[string][]*smallJobsRun{}
	for _, w := range smallScenarios {
		for _, n := range o.jobs {
			r, err := runSmallJobs(ctx, o, w, n, c)
			if err != nil {
				return nil, err
			}
			races[w.name] = append(races[w.name], r)
		}
	}
	c.progress.End()
	study := smallSweep(o)
	result, err := runSweep(ctx, o, c, study)
	if err != nil || o.shard.Count > 1 {
		return partOf("Stress test with small Jobs", o), err
	}
	fitted, err := fittedTable(o.jobs, study, result)
	if err != nil {
		return nil, err
	}
	return smallReport(o, races, fitted), nil
}

// A smallJobsRun is one run: N Jobs, submitted one after another, until all are complete.
type smallJobsRun struct {
	*lab
	seconds int // as the script of the study counts
	done    bool
}

func runSmallJobs(ctx context.Context, o options, w scenario, n int, c *studyClock) (*smallJobsRun, error) {
	l, err := newLab(ctx, labOptions{
		name: fmt.Sprintf("%s %d", w.name, n), seed: o.seed, nodes: o.nodes, stages: studyStages(), controllers: w.controllers(),
		goal: goal{"Job.batch", record.Complete, n}, timing: clusterLike(o.seed),
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for i := range n {
		l.At(l.start.Add(time.Duration(i+1)*kubectlTime), func(ctx context.Context) error {
			return w.submit(ctx, l, job{Name: jobName(i), Pods: 1, Sleep: shortSleep})
		})
	}
	r := &smallJobsRun{lab: l}
	r.poll(l.start.Add(time.Duration(n+1) * kubectlTime))
	if err := l.play(ctx, c, func() bool { return r.done }); err != nil {
		return nil, err
	}
	return r, l.writeLog(o.log)
}

// poll checks at a time, and then repeatedly, whether all Jobs are complete. The script's clock
// shows whole seconds: the difference of two of its times is, on average, the duration.
func (r *smallJobsRun) poll(at time.Time) {
	r.At(at, func(context.Context) error {
		if r.reached < r.goal.count {
			r.poll(at.Add(pollPause + kubectlTime))
			return nil
		}
		r.seconds, r.done = int(at.Sub(r.start).Round(time.Second)/time.Second), true
		return nil
	})
}

func smallReport(o options, races map[string][]*smallJobsRun, fitted report.Table) *report.Report {
	rows := []report.Series{times("kind, measured", o.jobs, measured["kind"])}
	var last []*lab
	for _, w := range smallScenarios {
		simulated := map[int]int{}
		for _, r := range races[w.name] {
			simulated[r.goal.count] = r.seconds
		}
		rows = append(rows, times(w.name+", measured", o.jobs, measured[w.name]), times(w.name+", simulated", o.jobs, simulated))
		final := *races[w.name][len(o.jobs)-1].lab
		final.name = w.name
		last = append(last, &final)
	}
	totals := report.Lines("totals", "Seconds until all Jobs are complete", rows...)
	totals.X, totals.Y, totals.Wide = "Jobs", "seconds", true
	n := o.jobs[len(o.jobs)-1]
	return &report.Report{
		Title: "Stress test with small Jobs",
		Lead: "One Pod a Job, which sleeps for ten seconds, on fake nodes: how long it takes until N of them are complete, " +
			"as the KWOK/MCAD study measured it and as it is simulated here.",
		Parameters: smallParameters(o),
		Sections: append([]report.Section{
			{Tables: []report.Table{totalsTable(o.jobs, rows), fitted}, Charts: []report.Chart{totals}},
			{Title: fmt.Sprintf("The run with %d Jobs", n), Charts: append([]report.Chart{completions(last)}, ganttOf(last, evenSample(n))...)},
		}, ignored(last...)...),
	}
}

// times is a series of the known seconds.
func times(name string, jobs []int, seconds map[int]int) report.Series {
	s := report.Series{Name: name}
	for _, n := range jobs {
		if v, known := seconds[n]; known {
			s.Points = append(s.Points, report.Point{X: float64(n), Y: float64(v)})
		}
	}
	return s
}

func totalsTable(jobs []int, rows []report.Series) report.Table {
	t := report.Table{Head: []string{"seconds until N Jobs are complete"}, Note: "Real nodes (kind) are not simulated."}
	for _, n := range jobs {
		t.Head = append(t.Head, strconv.Itoa(n))
	}
	for _, row := range rows {
		cells := []string{row.Name}
		for _, n := range jobs {
			cell := "-"
			for _, p := range row.Points {
				if p.X == float64(n) {
					cell = strconv.Itoa(int(p.Y))
				}
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// fittedTable has the measured value for each simulated number, and says whether the number was
// fitted to it.
func fittedTable(jobs []int, study sweep.Study, result *sweep.Result) (report.Table, error) {
	t := report.Table{
		Title: "Measured and simulated", Head: []string{"seconds", "measured", "simulated", "±", "seeds", "difference", "fitted?"},
		Note: fmt.Sprintf("The dispatcher rests for %s after each AppWrapper: the slope of the measured cells 1 to 50 of kwok+MCAD, by least squares. "+
			"The other cells are predictions. Simulated are means over seeds, with intervals of 95 %%, of Student's distribution; a measured cell is one run.", dispatchTime()),
	}
	for _, w := range smallScenarios {
		for _, n := range jobs {
			want, known := measured[w.name][n]
			if !known {
				continue
			}
			p, err := study.Point(w.name, strconv.Itoa(n))
			if err != nil {
				return t, err
			}
			e, err := result.Estimate(0.95, p, smallMetric)
			if err != nil {
				return t, err
			}
			t.Rows = append(t.Rows, []string{
				fmt.Sprintf("%s, %d Jobs", w.name, n), strconv.Itoa(want), fmt.Sprintf("%.1f", e.Mean), halfText("%.1f", e.Half()),
				strconv.Itoa(e.Count), fmt.Sprintf("%+.1f", e.Mean-float64(want)), fittedCell(w.name, n),
			})
		}
	}
	return t, nil
}

// fittedCell says whether something was fitted to a measured cell.
func fittedCell(scenario string, jobs int) string {
	switch {
	case scenario == smallScenarios[0].name:
		return "no"
	case slices.Contains(fittedJobs, jobs):
		return "in the fit"
	}
	return "predicted"
}

// completions shows the number of complete Jobs over time.
func completions(runs []*lab) report.Chart {
	c := overTime("complete", "Jobs that are complete", measure.NumberIn("Job.batch", record.Complete), runs)
	c.Y, c.Wide = "Jobs", true
	return c
}

func smallParameters(o options) []report.Parameter {
	return append([]report.Parameter{
		{Name: "seed", Value: fmt.Sprintf("%d, means are of seeds from there to %d", o.seed, o.seed+uint64(o.seeds)-1)},
		{Name: "nodes", Value: strconv.Itoa(o.nodes)},
		{Name: "Pod created after", Value: "U[0.1, 0.5] s"},
		{Name: "Pod ready after", Value: "U[10, 11] s"},
		{Name: "complete after", Value: shortSleep.String()},
		{Name: "the dispatcher rests for", Value: dispatchTime().String()},
		{Name: "a kubectl takes", Value: kubectlTime.String()},
		{Name: "the script sleeps between looks for", Value: pollPause.String()},
	}, timingParameters(clusterLike(o.seed))...)
}
