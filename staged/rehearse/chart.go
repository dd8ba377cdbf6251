package rehearse

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A bar is a span of time within a row of a chart.
type bar struct{ from, to time.Duration }

// A row of a chart shows when a stage was satisfied, when a BindingPolicy existed, or when a
// cluster had some of the workload.
type row struct {
	kind, name string
	bars       []bar
	open       int // how many things that began have not ended
}

// rows returns the stages, BindingPolicies and clusters of a timeline, each in the order in which
// they first appear.
func (t *Timeline) rows() []*row {
	var rows []*row
	for _, e := range t.Entries {
		kind, name := e.subject()
		step := e.step()
		i := slices.IndexFunc(rows, func(r *row) bool { return r.kind == kind && r.name == name })
		switch {
		case step == 0 || i < 0 && step < 0:
			continue
		case i < 0:
			i = len(rows)
			rows = append(rows, &row{kind: kind, name: name})
		}
		rows[i].count(e.At, step)
	}
	for _, r := range rows {
		if r.open > 0 {
			r.count(t.end(), -r.open)
		}
	}
	rank := map[string]int{"stage": 0, "BindingPolicy": 1, "cluster": 2}
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(rank[a.kind], rank[b.kind]) })
	return rows
}

// end returns when the last thing happened.
func (t *Timeline) end() time.Duration {
	if len(t.Entries) == 0 {
		return 0
	}
	return t.Entries[len(t.Entries)-1].At
}

// step returns 1 if an entry begins something, -1 if it ends something, else 0.
func (e Entry) step() int {
	switch {
	case e.Waiting:
		return 0
	case e.Text == textSatisfied, e.BindingPolicy != "" && e.Text == textCreated, e.Cluster != "" && strings.HasSuffix(e.Text, textArrives):
		return 1
	case e.Stage != "", e.BindingPolicy != "" && e.Text == textRemoved, e.Cluster != "" && strings.HasSuffix(e.Text, textGone):
		return -1
	}
	return 0
}

// count counts something that begins or ends, and begins or ends a bar with the first or last.
func (r *row) count(at time.Duration, step int) {
	before := r.open
	r.open = max(0, r.open+step)
	switch {
	case before == 0 && r.open > 0:
		r.bars = append(r.bars, bar{from: at})
	case before > 0 && r.open == 0:
		r.bars[len(r.bars)-1].to = at
	}
}

// Mermaid prints when each BindingPolicy existed, as a Gantt chart for mermaid. Its axis counts
// seconds from the start.
func (t *Timeline) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gantt\n  title %s\n  dateFormat X\n  axisFormat %%s\n", t.Policy)
	for _, r := range t.rows() {
		if r.kind != "BindingPolicy" {
			continue
		}
		for _, bar := range r.bars {
			from, to := int(bar.from.Seconds()), int(bar.to.Seconds())
			fmt.Fprintf(&b, "  %s : %d, %d\n", r.name, from, max(from+1, to))
		}
	}
	return b.String()
}

//go:embed chart.html
var chartHTML string

// WriteHTML writes timelines as one page that loads nothing else. For each timeline it has a chart
// of the stages, BindingPolicies and clusters, the lints, and the entries. The error is that of w.
func WriteHTML(w io.Writer, timelines ...*Timeline) error {
	page, err := template.New("chart").Parse(chartHTML)
	if err != nil {
		return err
	}
	charts := make([]chart, len(timelines))
	for i, t := range timelines {
		charts[i] = t.chart()
	}
	return page.Execute(w, charts)
}

// A chart is the data of the page about a timeline. X and Width are in percent of the width of the
// chart.
type chart struct {
	*Timeline
	Ticks []tick
	Rows  []chartRow
	Lines []chartLine
}

type chartLine struct {
	At, About, Text string
	Waiting         bool
}

type tick struct {
	X  string
	At time.Duration
}

type chartRow struct {
	Kind, Name string
	Bars       []chartBar
}

type chartBar struct {
	X, Width string
	From, To time.Duration
}

// ticks is the number of parts of the axis.
const ticks = 4

// thinnest is the least width of a bar, in percent.
const thinnest = 0.5

// precision returns to what the times on an axis of this length are rounded.
func precision(end time.Duration) time.Duration {
	if end >= time.Minute {
		return time.Second
	}
	return time.Millisecond
}

func (t *Timeline) chart() chart {
	end := max(t.end(), 1)
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(end) }
	text := func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
	c := chart{Timeline: t}
	for i := range ticks + 1 {
		at := end / ticks * time.Duration(i)
		c.Ticks = append(c.Ticks, tick{text(percent(at)), at.Round(precision(end))})
	}
	for _, e := range t.Entries {
		c.Lines = append(c.Lines, chartLine{e.when(), e.about(), e.Text, e.Waiting})
	}
	for _, r := range t.rows() {
		shown := chartRow{Kind: r.kind, Name: r.name}
		for _, b := range r.bars {
			width := max(percent(b.to-b.from), thinnest)
			x := min(percent(b.from), 100-width)
			shown.Bars = append(shown.Bars, chartBar{text(x), text(width), round(b.from), round(b.to)})
		}
		c.Rows = append(c.Rows, shown)
	}
	return c
}
