package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// gpuOptions are the numbers of GPUs that each Pod of a Job may request; all are equally likely. A
// node has gpusPerNode.
var gpuOptions = load.Values{2, 4, 6, 8}

const (
	gpusPerNode = 8
	gpuName     = "nvidia.com/gpu"
)

var gpuScenarios = []scenario{
	{"default scheduler", submitJob, func() []reconcile.Controller { return nil }},
	{"MCAD", submitQueued, func() []reconcile.Controller { return mcad.Queue(mcad.QueueOptions{Rest: dispatchTime()}) }},
	{"MCAD + gangs", submitQueuedGang, func() []reconcile.Controller {
		return append(mcad.Queue(mcad.QueueOptions{Rest: dispatchTime()}), mcad.Coscheduler())
	}},
}

// gpu is the performance test of the study: the same Jobs in three scenarios.
func gpu(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	var runs []*lab
	for _, w := range gpuScenarios {
		l, err := runGPU(ctx, o, w, c)
		if err != nil {
			return nil, err
		}
		runs = append(runs, l)
	}
	c.progress.End()
	study := gpuSweep(o)
	result, err := runSweep(ctx, o, c, study)
	if err != nil || o.shard.Count > 1 {
		return partOf("GPU test", o), err
	}
	compared, err := comparisons(o, study, result)
	if err != nil {
		return nil, err
	}
	return gpuReport(o, runs, compared), nil
}

// runGPU submits the Jobs at their times and waits until all are complete. The random numbers do
// not depend on the scenario.
func runGPU(ctx context.Context, o options, w scenario, c *studyClock) (*lab, error) {
	n := o.jobs[0]
	l, err := newLab(ctx, labOptions{
		name: w.name, seed: o.seed, nodes: o.nodes, stages: studyStages(), controllers: w.controllers(),
		goal: goal{"Job.batch", record.Complete, n}, timing: clusterLike(o.seed),
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	gaps := load.MustNew(o.seed, "gaps", load.Exponential{Mean: o.gap.Seconds()})
	sizes := load.MustNew(o.seed, "sizes", load.Exponential{Mean: o.size.Seconds()})
	gpus := load.MustNew(o.seed, "gpus", gpuOptions)
	load.Schedule(l, gaps.Arrivals(n), func(ctx context.Context, i int) error {
		return w.submit(ctx, l, job{Name: jobName(i), Pods: o.pods, GPUs: int(gpus.Next()), Sleep: sizes.Duration()})
	})
	if err := l.play(ctx, c, never); err != nil {
		return nil, err
	}
	return l, errors.Join(l.writeLog(o.log), l.writeObjects(o.objects))
}

// writeObjects writes the table of the Jobs if a file is given.
func (l *lab) writeObjects(file string) error {
	if file == "" {
		return nil
	}
	return record.WriteFile(logName(file, l.name), func(w io.Writer) error {
		return measure.WriteTable(w, l.log, "Job.batch", measure.DispatchTime(), measure.ResponseTime(), measure.JobCompletionTime())
	})
}

// A studyMetric is a metric of the study, which can be measured differently with and without a
// queue.
type studyMetric struct {
	name, title, caption    string
	withoutQueue, withQueue *measure.Metric // nil without such a metric
}

func (f studyMetric) of(l *lab) *measure.Metric {
	if l.name == gpuScenarios[0].name {
		return f.withoutQueue
	}
	return f.withQueue
}

// gpuMetrics are the six metrics of the study, in two groups.
func gpuMetrics() (spans, series []studyMetric) {
	scheduling, completion, pending, use := measure.SchedulingLatency(), measure.ResponseTime(), measure.PendingPods(), measure.Use(gpuName)
	dispatched := measure.Between("dispatch time", "AppWrapper.mcad.ibm.com", nil, measure.In("Dispatched"))
	response := measure.Between("response time", "AppWrapper.mcad.ibm.com", nil, measure.In("Completed"))
	spans = []studyMetric{
		{"scheduling-latency", "Scheduling latency (s)", "From the creation of a Pod until it has a node.", &scheduling, &scheduling},
		{"job-completion-time", "Job completion time (s)", "From the creation of a Job until it is complete.", &completion, &completion},
		{"dispatch-time", "Dispatch time (s)", "From the creation of an AppWrapper until its Job is created.", nil, &dispatched},
		{"response-time", "Response time (s)", "From the submission, of a Job or of its AppWrapper, until it is complete.", &completion, &response},
	}
	series = []studyMetric{
		{"pending-pods", "Pending Pods", "Pods without a node.", &pending, &pending},
		{"gpu-use", "GPUs in use", "What Pods request that have a node and have not ended.", &use, &use},
	}
	return spans, series
}

func gpuReport(o options, runs []*lab, compared report.Section) *report.Report {
	r := &report.Report{
		Title: "GPU test",
		Lead: "Jobs arrive at random and ask for random numbers of GPUs for random times: the same Jobs with the default scheduler, with an MCAD-like queue " +
			"before it, and with such a queue and gang scheduling.",
		Parameters: gpuParameters(o),
	}
	spans, series := gpuMetrics()
	waits := report.Section{Title: "How long things take"}
	if o.pods == 1 {
		waits.Text = "With one Pod a Job, a gang is that Pod alone, and the last two are the same: -pods 2 sets them apart."
	}
	counts := report.Section{Title: "Over time"}
	for _, f := range spans {
		waits.Tables = append(waits.Tables, f.table(runs))
		waits.Charts = append(waits.Charts, f.distribution(runs))
	}
	waits.Charts = append(waits.Charts, spans[1].histogram(runs), spans[3].histogram(runs))
	for _, f := range series {
		counts.Tables = append(counts.Tables, f.levels(runs))
		counts.Charts = append(counts.Charts, f.line(runs))
	}
	counts.Charts[1].Ceiling = float64(o.nodes * gpusPerNode)
	counts.Charts[1].Caption += " Dashed: all that there are."
	r.Sections = []report.Section{waits, counts, compared, {Title: "What Jobs went through when most were waiting", Charts: ganttOf(runs, mostWaiting(runs))}}
	r.Sections = append(r.Sections, ignored(runs...)...)
	return r
}

// table has a row for each run that has the metric.
func (f studyMetric) table(runs []*lab) report.Table {
	t := report.Table{Title: f.title, Head: summaryHead(), Note: f.caption}
	for _, l := range runs {
		if m := f.of(l); m != nil {
			t.Rows = append(t.Rows, summaryRow(l.name, m.Sample(l.log).Summary()))
		}
	}
	return t
}

// levels is the table of a series. Its numbers are weighted by time; the count of values is
// omitted, because it has no meaning.
func (f studyMetric) levels(runs []*lab) report.Table {
	t := f.table(runs)
	t.Head = slices.Delete(t.Head, 1, 2)
	for i, row := range t.Rows {
		t.Rows[i] = slices.Delete(row, 1, 2)
	}
	t.Note += " Weighted by time."
	return t
}

// values are the values of each run. A run without the metric has no values, but is listed, so that
// the colors of the runs are the same in all charts.
func (f studyMetric) values(runs []*lab) (all []report.Series) {
	for _, l := range runs {
		s := report.Series{Name: l.name}
		if m := f.of(l); m != nil {
			s = report.Sample(l.name, m.Sample(l.log).Values())
		}
		all = append(all, s)
	}
	return all
}

func (f studyMetric) distribution(runs []*lab) report.Chart {
	c := report.CDF(f.name, f.title, f.values(runs)...)
	c.X, c.Y, c.Caption = "seconds", "share", f.caption
	return c
}

func (f studyMetric) histogram(runs []*lab) report.Chart {
	c := report.Histogram(f.name+"-histogram", f.title, f.values(runs)...)
	c.X, c.Y, c.Caption = "seconds", "Jobs", f.caption
	return c
}

func (f studyMetric) line(runs []*lab) report.Chart {
	c := overTime(f.name, f.title, *f.withoutQueue, runs)
	c.Caption, c.Wide = f.caption, true
	return c
}

func gpuParameters(o options) []report.Parameter {
	return append([]report.Parameter{
		{Name: "seed", Value: fmt.Sprintf("%d, policies are compared from there to %d", o.seed, o.seed+uint64(o.seeds)-1)},
		{Name: "Jobs", Value: strconv.Itoa(o.jobs[0])},
		{Name: "Pods a Job", Value: strconv.Itoa(o.pods)},
		{Name: "time between Jobs", Value: "exponential, mean " + o.gap.String()},
		{Name: "size of a Job", Value: "exponential, mean " + o.size.String()},
		{Name: "GPUs a Pod", Value: "2, 4, 6 or 8"},
		{Name: "nodes", Value: strconv.Itoa(o.nodes)},
		{Name: "GPUs a node", Value: strconv.Itoa(gpusPerNode)},
		{Name: "Pod created after", Value: "U[0.1, 0.5] s"},
		{Name: "Pod ready after", Value: "U[10, 11] s"},
		{Name: "the dispatcher rests for", Value: dispatchTime().String()},
	}, timingParameters(clusterLike(o.seed))...)
}
