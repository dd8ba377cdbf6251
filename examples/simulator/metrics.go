package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// overTime shows the series of a metric, one for each run, in seconds since the start.
func overTime(name, title string, m measure.Metric, runs []*lab) report.Chart {
	var all []report.Series
	for _, l := range runs {
		s := report.Series{Name: l.name}
		for _, p := range m.Series(l.log) {
			s.Points = append(s.Points, report.Point{X: p.Time.Sub(l.start).Seconds(), Y: p.Value})
		}
		all = append(all, s)
	}
	c := report.Steps(name, title, all...)
	c.X = "seconds"
	return c
}

// summaryHead is the header of a table of summaries.
func summaryHead() []string {
	return []string{"", "count", "mean", "std dev", "min", "median", "p90", "p99", "max"}
}

// summaryRow is a row of a table of summaries.
func summaryRow(name string, s measure.Summary) []string {
	row := []string{name, strconv.Itoa(s.Count)}
	for _, v := range []float64{s.Mean, s.StdDev, s.Min, s.Median, s.P90, s.P99, s.Max} {
		row = append(row, number(v))
	}
	return row
}

func number(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', 2, 64) // + 0: avoids -0
}

// steps are the phases of a Job.
var steps = []string{"in the queue", "waits for a node", "starts", "runs", "is counted"}

// A jobTimes is the times at which a Job was submitted, was created, had nodes for all of its Pods,
// had all Pods ready, had all Pods succeeded, and was complete. A time is zero if the event did not
// happen.
type jobTimes [6]time.Time

// milestones say which record sets which time.
var milestones = []struct {
	at    int
	first bool // counts, else the last
	is    func(record.Record) bool
}{
	{0, true, func(r record.Record) bool { return r.Kind != "Pod" }},
	{1, true, func(r record.Record) bool { return r.Kind == "Job.batch" }},
	{2, false, func(r record.Record) bool { return r.Kind == "Pod" && r.From == record.Pending && r.Node != "" }},
	{3, false, func(r record.Record) bool { return r.Kind == "Pod" && r.To == record.Ready && r.From != r.To }},
	{4, false, func(r record.Record) bool { return r.Kind == "Pod" && r.To == record.Succeeded && r.From != r.To }},
	{5, true, func(r record.Record) bool { return r.Kind == "Job.batch" && r.To == record.Complete }},
}

// jobTimesOf returns the times of the Jobs, by name. An AppWrapper has the name of its Job.
func jobTimesOf(log record.Log) map[string]*jobTimes {
	all := map[string]*jobTimes{}
	for _, r := range log {
		name := r.Name
		if r.Kind == "Pod" {
			name = strings.TrimPrefix(r.Owner, "Job.batch/")
		}
		if r.Kind == "Node" {
			continue
		}
		p := all[name]
		if p == nil {
			p = &jobTimes{}
			all[name] = p
		}
		for _, m := range milestones {
			if m.is(r) && !(m.first && !p[m.at].IsZero()) {
				p[m.at] = r.Time
			}
		}
	}
	return all
}

// maxGanttJobs is the largest number of Jobs in a Gantt chart.
const maxGanttJobs = 24

// ganttOf shows the phases of some of the Jobs of each run.
func ganttOf(runs []*lab, jobs []int) (charts []report.Chart) {
	for _, l := range runs {
		var rows []report.Row
		all := jobTimesOf(l.log)
		for _, i := range jobs {
			name := jobName(i)
			rows = append(rows, report.Row{Name: name, Spans: all[name].spans(l.start)})
		}
		c := report.Gantt("jobs-"+slug(l.name), l.name, steps, rows...)
		c.X = "seconds"
		charts = append(charts, c)
	}
	return charts
}

// evenSample returns Jobs from the first on, equally far apart.
func evenSample(n int) (jobs []int) {
	for i := range min(n, maxGanttJobs) {
		jobs = append(jobs, i*n/min(n, maxGanttJobs))
	}
	return jobs
}

// mostWaiting returns consecutive Jobs: the Jobs that waited longest, in all runs together.
func mostWaiting(runs []*lab) (jobs []int) {
	n := runs[0].goal.count
	waits := make([]float64, n)
	for _, l := range runs {
		for name, p := range jobTimesOf(l.log) {
			if i, err := strconv.Atoi(strings.TrimPrefix(name, "job-")); err == nil {
				waits[i-1] += p[2].Sub(p[0]).Seconds()
			}
		}
	}
	size, first := min(n, maxGanttJobs), 0
	sum, most := 0.0, 0.0
	for i, w := range waits {
		sum += w
		if i >= size {
			sum -= waits[i-size]
		}
		if start := i - size + 1; start >= 0 && sum > most {
			first, most = start, sum
		}
	}
	for i := range size {
		jobs = append(jobs, first+i)
	}
	return jobs
}

// jobName is the name of a Job, counted from 0.
func jobName(i int) string { return "job-" + strconv.Itoa(i+1) }

// spans are the durations between times that are set.
func (p *jobTimes) spans(start time.Time) (spans []report.Span) {
	if p == nil {
		return nil
	}
	for i := range steps {
		if from, to := p[i], p[i+1]; !from.IsZero() && to.After(from) {
			spans = append(spans, report.Span{State: i, From: from.Sub(start).Seconds(), To: to.Sub(start).Seconds()})
		}
	}
	return slices.Clip(spans)
}
