package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// A gpuFigure is a mean of a run, by which policies are compared.
type gpuFigure struct {
	studyMetric
	metric string // its name in the sweep
	steady bool   // only while Jobs arrive, see steadyWindow
}

// gpuFigures are the metrics that all policies have.
func gpuFigures() []gpuFigure {
	spans, series := gpuMetrics()
	return []gpuFigure{
		{spans[0], "scheduling latency", false}, {spans[1], "job completion time", false}, {spans[3], "response time", false},
		{series[0], "pending Pods", true}, {series[1], "GPUs in use", true},
	}
}

// steadyWindow leaves out the beginning, when the cluster is empty, and the end, when no more Jobs
// arrive.
func steadyWindow(o options) measure.Window {
	arrivals := time.Duration(o.jobs[0]) * o.gap
	return measure.Window{From: arrivals / 10, To: arrivals * 9 / 10}
}

// value is the mean of a run.
func (f gpuFigure) value(o options, l *lab) float64 {
	m := *f.of(l)
	if f.steady {
		m = m.In(steadyWindow(o))
	}
	return m.Sample(l.log).Mean()
}

// responseSteps are the times, as multiples of the mean size of a Job, at which the distribution of
// response times is compared.
var responseSteps = []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12}

// within is the metric of the share of Jobs with a response time of at most some seconds.
func within(seconds float64) string {
	return "response time within " + strconv.FormatFloat(seconds, 'g', 6, 64) + " s"
}

// gpuSweep is the same Jobs with each policy, for several seeds: seed 1 of the sweep is -seed.
func gpuSweep(o options) sweep.Study {
	s := sweep.Study{Name: fmt.Sprintf("gpu 2, %d Jobs of %d Pods, gap %s, size %s, %d nodes, seeds from %d", o.jobs[0], o.pods, o.gap, o.size, o.nodes, o.seed)}
	policy := sweep.Parameter{Name: "policy"}
	scenarios := map[string]scenario{}
	for _, w := range gpuScenarios {
		policy.Values = append(policy.Values, w.name)
		scenarios[w.name] = w
	}
	s.Parameters = []sweep.Parameter{policy}
	for _, f := range gpuFigures() {
		s.Metrics = append(s.Metrics, f.metric)
	}
	for _, step := range responseSteps {
		s.Metrics = append(s.Metrics, within(step*o.size.Seconds()))
	}
	s.Run = func(ctx context.Context, r sweep.Run) (values []float64, err error) {
		one := o
		one.seed, one.log, one.objects = o.seed+r.Seed-1, "", ""
		l, err := runGPU(ctx, one, scenarios[r.Value("policy")], &studyClock{progress: &progress.Line{}})
		if err != nil {
			return nil, err
		}
		for _, f := range gpuFigures() {
			values = append(values, f.value(o, l))
		}
		return append(values, responseShares(o, l)...), nil
	}
	return s
}

// responseShares are the shares of the Jobs with a response time of at most each of responseSteps.
func responseShares(o options, l *lab) (shares []float64) {
	spans, _ := gpuMetrics()
	times := spans[3].of(l).Sample(l.log).Values()
	n := 0
	for _, step := range responseSteps {
		for n < len(times) && times[n] <= step*o.size.Seconds() {
			n++
		}
		shares = append(shares, float64(n)/float64(len(times)))
	}
	return shares
}

// comparisons compares the policies with the first one, seed by seed.
func comparisons(o options, study sweep.Study, result *sweep.Result) (report.Section, error) {
	steady := steadyWindow(o)
	section := report.Section{Title: "Policies compared, seed by seed"}
	t := report.Table{
		Title: fmt.Sprintf("Compared with the %s: means of %d seeds", gpuScenarios[0].name, o.seeds),
		Head:  []string{"", "there", "mean", "difference", "±", "higher in"},
		Note: "Each seed has the same Jobs with all policies, so that their differences are paired; intervals of 95 %, of Student's distribution. " +
			fmt.Sprintf("Pending Pods and GPUs in use are means over time %s, while Jobs arrive.", steady),
	}
	var rows []report.Series
	base, err := study.Point(gpuScenarios[0].name)
	if err != nil {
		return section, err
	}
	for _, w := range gpuScenarios[1:] {
		p, err := study.Point(w.name)
		if err != nil {
			return section, err
		}
		for _, f := range gpuFigures() {
			row, bar, err := compared(result, f, base, p)
			if err != nil {
				return section, err
			}
			t.Rows, rows = append(t.Rows, row), append(rows, bar)
		}
	}
	c := report.Intervals("differences", "Differences to the "+gpuScenarios[0].name, rows...)
	c.X, c.Caption = "% of its mean", "Means of paired differences, with intervals of 95 %."
	bands, err := responseBands(o, study, result)
	section.Tables, section.Charts = []report.Table{t}, []report.Chart{c, bands}
	return section, err
}

// compared returns a row of the table, and of the chart, in per cent of the mean of the first policy.
func compared(result *sweep.Result, f gpuFigure, base, p sweep.Point) ([]string, report.Series, error) {
	name := p.Value("policy") + ": " + f.metric
	d, err := result.Difference(0.95, f.metric, base, p)
	if err != nil {
		return nil, report.Series{}, err
	}
	there, err := result.Estimate(0.95, base, f.metric)
	if err != nil {
		return nil, report.Series{}, err
	}
	row := []string{name, number(there.Mean), number(there.Mean + d.Mean), number(d.Mean), number(d.Half()), higher(result, f.metric, base, p)}
	percent := 100 / there.Mean
	return row, report.Series{Name: name, Points: []report.Point{{Y: percent * d.Mean, Half: percent * d.Half()}}}, nil
}

// higher counts the seeds in which a metric is higher than with the first policy.
func higher(result *sweep.Result, metric string, base, p sweep.Point) string {
	values := map[string]map[uint64]float64{}
	for _, r := range result.Rows() {
		if name := r.Run.Value("policy"); r.Metric == metric {
			if values[name] == nil {
				values[name] = map[uint64]float64{}
			}
			values[name][r.Run.Seed] = r.Value
		}
	}
	n, all := 0, values[base.Value("policy")]
	for seed, v := range all {
		if values[p.Value("policy")][seed] > v {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(all))
}

// responseBands shows the distribution of response times with each policy.
func responseBands(o options, study sweep.Study, result *sweep.Result) (report.Chart, error) {
	var series []report.Series
	for _, w := range gpuScenarios {
		p, err := study.Point(w.name)
		if err != nil {
			return report.Chart{}, err
		}
		s := report.Series{Name: w.name, Points: []report.Point{{}}}
		for _, step := range responseSteps {
			seconds := step * o.size.Seconds()
			i, err := result.Estimate(0.95, p, within(seconds))
			if err != nil {
				return report.Chart{}, err
			}
			s.Points = append(s.Points, report.Point{X: seconds, Y: i.Mean, Half: i.Half()})
		}
		series = append(series, s)
	}
	c := report.Bands("response-time-of-all", "Response time, all seeds", series...)
	c.X, c.Y, c.Wide = "seconds", "share of the Jobs", true
	c.Caption = "Share of the Jobs that are complete within a time of their submission; the bands are intervals of 95 % of the mean of the seeds, at each time by itself."
	return c, nil
}
