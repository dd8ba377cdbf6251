package report

import (
	"slices"
)

// A Chart is a picture of numbers. [Lines], [Bands], [Steps], [CDF], [Histogram], [Intervals] and
// [Gantt] make Charts, whose fields can be changed.
type Chart struct {
	Name    string // of its files
	Title   string
	Caption string
	X, Y    string // the titles of the axes
	// Ceiling is drawn as a thin line if it is not 0: a value that cannot be exceeded.
	Ceiling float64
	Wide    bool // takes the width of the page; that is the default of Gantt

	kind   kind
	series []Series
	rows   []Row
	states []string
}

type kind int

const (
	lines kind = iota
	steps
	shares
	bars
	gantt
	bands
	intervals
)

// A Series is a line of a chart, or the values of a distribution.
type Series struct {
	Name   string
	Points []Point // Y alone counts for CDF and Histogram
}

// A Point is one number at one position or time. Where Half is above 0, Lines draws an error bar from
// Y-Half to Y+Half, and Bands a band.
type Point struct{ X, Y, Half float64 }

// Sample makes a Series of values without positions.
func Sample(name string, values []float64) Series {
	s := Series{Name: name}
	for _, v := range values {
		s.Points = append(s.Points, Point{Y: v})
	}
	return s
}

// Lines connects points, and marks each point.
func Lines(name, title string, series ...Series) Chart {
	return Chart{Name: name, Title: title, kind: lines, series: series}
}

// Bands connects points, with a band around each line.
func Bands(name, title string, series ...Series) Chart {
	return Chart{Name: name, Title: title, kind: bands, series: series}
}

// Intervals shows a number with an error bar in each row, such as the differences of policies, and a
// line at 0. The series have one Point each, whose X is not used; the first is at the top.
func Intervals(name, title string, rows ...Series) Chart {
	c := Chart{Name: name, Title: title, kind: intervals, series: rows, Wide: true}
	for _, s := range rows {
		c.rows = append(c.rows, Row{Name: s.Name})
	}
	return c
}

// Steps shows numbers that are constant until the next point.
func Steps(name, title string, series ...Series) Chart {
	return Chart{Name: name, Title: title, kind: steps, series: series}
}

// CDF shows for each value the share of the values that do not exceed it.
func CDF(name, title string, samples ...Series) Chart {
	c := Chart{Name: name, Title: title, Y: "share", kind: shares}
	for _, s := range samples {
		c.series = append(c.series, s.cumulated())
	}
	return c
}

func (s Series) cumulated() Series {
	sorted := slices.Clone(s.Points)
	slices.SortFunc(sorted, func(a, b Point) int { return compare(a.Y, b.Y) })
	points := make([]Point, 0, len(sorted)+1)
	for i, p := range sorted {
		if i == 0 {
			points = append(points, Point{X: p.Y})
		}
		points = append(points, Point{X: p.Y, Y: float64(i+1) / float64(len(sorted))})
	}
	return Series{s.Name, points}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Histogram counts the values of each sample in equal intervals from 0. Values below 0 count as 0.
func Histogram(name, title string, samples ...Series) Chart {
	c := Chart{Name: name, Title: title, Y: "count", kind: bars}
	width := binWidth(samples)
	for _, s := range samples {
		counts := make([]Point, binCount(samples, width))
		for i := range counts {
			counts[i].X = (float64(i) + 0.5) * width
		}
		for _, p := range s.Points {
			counts[max(0, int(p.Y/width))].Y++
		}
		c.series = append(c.series, Series{s.Name, counts})
	}
	return c
}

// bins is the largest number of intervals of a histogram.
const bins = 16

func largest(samples []Series) (most float64) {
	for _, s := range samples {
		for _, p := range s.Points {
			most = max(most, p.Y)
		}
	}
	return most
}

// binWidth is a width with at most bins intervals.
func binWidth(samples []Series) float64 { return roundUp(largest(samples) / bins) }

func binCount(samples []Series, width float64) int { return int(largest(samples)/width) + 1 }

// A Row of a Gantt chart is one thing and its phases.
type Row struct {
	Name  string
	Spans []Span
}

// A Span is a time in one state.
type Span struct {
	State    int // index into the names of the states
	From, To float64
}

// Gantt shows the phases of things, the first row at the top.
func Gantt(name, title string, states []string, rows ...Row) Chart {
	return Chart{Name: name, Title: title, kind: gantt, states: states, rows: rows, Wide: true}
}

// legend is the meaning of the colors of a chart. Series without points have no name there.
func (c Chart) legend() []string {
	switch c.kind {
	case gantt:
		return c.states
	case intervals:
		return nil // the rows have the names
	}
	names := make([]string, len(c.series))
	for i, s := range c.series {
		if len(s.Points) > 0 {
			names[i] = s.Name
		}
	}
	return names
}

// label describes the chart for screen readers.
func (c Chart) label() string { return "Chart: " + c.Title }
