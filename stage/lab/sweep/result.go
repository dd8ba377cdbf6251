package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/statistics"
)

// A Result has the measurements of the runs of a study.
type Result struct {
	study  Study
	all    []Point
	index  map[string]int // of points, by [Point.id]
	values map[key][]cell // by metric
}

// A key is a run: the index of its point and its seed.
type key struct{ point, seed int }

// A cell is a value, and where it was read.
type cell struct {
	value float64
	known bool
	file  string // empty if it was measured just now
	line  int
}

func (c cell) String() string {
	if c.file == "" {
		return fmt.Sprint(c.value)
	}
	return fmt.Sprintf("%v in %s:%d", c.value, c.file, c.line)
}

// A Row is the value of one metric in one run.
type Row struct {
	Run
	Metric string
	Value  float64 // NaN is a missing value
}

// An Estimate is the mean of a metric over the seeds of a point.
type Estimate struct {
	Point  Point
	Metric string
	statistics.Interval
}

func newResult(s Study) *Result {
	r := &Result{study: s, all: s.Points(), index: map[string]int{}, values: map[key][]cell{}}
	for i, p := range r.all {
		r.index[p.id()] = i
	}
	return r
}

// id is different for different points: values may contain anything.
func (p Point) id() string { return fmt.Sprintf("%q", p.values) }

func (s Study) points() int {
	n := 1
	for _, p := range s.Parameters {
		n *= len(p.Values)
	}
	return n
}

func (r *Result) runOf(k key) Run { return Run{r.all[k.point], uint64(k.seed)} }

// set sets the value of a metric in a run. It returns an error if the metric already has another
// value.
func (r *Result) set(k key, metric int, c cell) error {
	if r.values[k] == nil {
		r.values[k] = make([]cell, len(r.study.Metrics))
	}
	old := r.values[k][metric]
	if old.known && old.value != c.value && !(math.IsNaN(old.value) && math.IsNaN(c.value)) {
		return fmt.Errorf("%s of %s is %v, and %v: runs must depend on nothing else", r.study.Metrics[metric], r.runOf(k), c.value, old)
	}
	if !old.known {
		r.values[k][metric] = c
	}
	return nil
}

// has reports whether a run has an entry for each metric. An entry can be a missing value.
func (r *Result) has(k key) bool {
	cells := r.values[k]
	return cells != nil && !slices.ContainsFunc(cells, func(c cell) bool { return !c.known })
}

// keys returns the runs with values, in the order of points and seeds.
func (r *Result) keys() []key {
	return slices.SortedFunc(maps.Keys(r.values), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.seed, b.seed))
	})
}

// first returns the first known value of a run that has one.
func (r *Result) first(k key) cell {
	cells := r.values[k]
	return cells[slices.IndexFunc(cells, func(c cell) bool { return c.known })]
}

// needed returns the runs that the study has, as far as that is known: point by point of each seed.
func (r *Result) needed() (runs []key) {
	seeds := make([]int, len(r.all))
	for i := range r.all {
		seeds[i] = r.seedsOf(i)
	}
	for seed := 1; seed <= r.study.Seeds; seed++ {
		for i := range r.all {
			if seed <= seeds[i] {
				runs = append(runs, key{i, seed})
			}
		}
	}
	return runs
}

// seedsOf returns how many seeds a point needs, as far as its runs tell.
func (r *Result) seedsOf(point int) int {
	stop := r.study.Stop
	if stop == nil {
		return r.study.Seeds
	}
	metric := slices.Index(r.study.Metrics, stop.Metric)
	n := min(max(stop.Min, 5), r.study.Seeds)
	for n < r.study.Seeds && r.complete(point, n) && !stop.enough(r.meanOf(cmp.Or(stop.Level, 0.95), point, metric, n)) {
		n = min(n+(n+3)/4, r.study.Seeds)
	}
	return n
}

// checkStop returns an error if a point has more seeds than the study needs: they were run for
// another Stop, and would be in the result.
func (r *Result) checkStop() error {
	if r.study.Stop == nil {
		return nil
	}
	for _, k := range r.keys() {
		if want := r.seedsOf(k.point); k.seed > want {
			c := r.first(k)
			return &LineError{c.file, c.line, fmt.Errorf("%s: the study stops after %d seeds, so this was run for another Stop", r.runOf(k), want)}
		}
	}
	return nil
}

func (s *Stop) enough(i statistics.Interval) bool {
	return i.Half() <= s.Half || i.Half() <= s.Relative*math.Abs(i.Mean)
}

// complete reports whether a point has its first seeds.
func (r *Result) complete(point, seeds int) bool {
	for seed := 1; seed <= seeds; seed++ {
		if !r.has(key{point, seed}) {
			return false
		}
	}
	return true
}

// meanOf returns the interval of a metric over the first seeds of a point.
func (r *Result) meanOf(level float64, point, metric, seeds int) statistics.Interval {
	var values []float64
	for seed := 1; seed <= seeds; seed++ {
		if v := r.value(key{point, seed}, metric); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return statistics.Mean(level, values...)
}

// value is NaN without a value.
func (r *Result) value(k key, metric int) float64 {
	if cells := r.values[k]; cells != nil && cells[metric].known {
		return cells[metric].value
	}
	return math.NaN()
}

// Rows returns all values, by point, seed and metric in the order of the study.
func (r *Result) Rows() []Row {
	var rows []Row
	for i := range r.all {
		for seed := 1; seed <= r.study.Seeds; seed++ {
			rows = append(rows, r.rowsOf(key{i, seed})...)
		}
	}
	return rows
}

func (r *Result) rowsOf(k key) (rows []Row) {
	for i, c := range r.values[k] {
		if c.known {
			rows = append(rows, Row{r.runOf(k), r.study.Metrics[i], c.value})
		}
	}
	return rows
}

// Estimates returns the interval of the mean of each metric at each point, at a level such as 0.95.
func (r *Result) Estimates(level float64) []Estimate {
	var list []Estimate
	for i, p := range r.all {
		for m, name := range r.study.Metrics {
			list = append(list, Estimate{p, name, r.meanOf(level, i, m, r.study.Seeds)})
		}
	}
	return list
}

// Estimate returns the interval of a metric at one point.
func (r *Result) Estimate(level float64, p Point, metric string) (statistics.Interval, error) {
	point, m, err := r.find(p, metric)
	if err != nil {
		return statistics.Interval{}, err
	}
	return r.meanOf(level, point, m, r.study.Seeds), nil
}

// Difference returns the interval of the mean of b - a, over the seeds that both points have: the
// paired difference.
func (r *Result) Difference(level float64, metric string, a, b Point) (statistics.Interval, error) {
	i, m, err := r.find(a, metric)
	if err != nil {
		return statistics.Interval{}, err
	}
	j, _, err := r.find(b, metric)
	if err != nil {
		return statistics.Interval{}, err
	}
	var before, after []float64
	for seed := 1; seed <= r.study.Seeds; seed++ {
		x, y := r.value(key{i, seed}, m), r.value(key{j, seed}, m)
		if !math.IsNaN(x) && !math.IsNaN(y) {
			before, after = append(before, x), append(after, y)
		}
	}
	return statistics.Difference(level, before, after)
}

func (r *Result) find(p Point, metric string) (point, index int, err error) {
	point, known := r.index[p.id()]
	index = slices.Index(r.study.Metrics, metric)
	if !known || index < 0 {
		return 0, 0, fmt.Errorf("sweep: study %q has no metric %q at %q", r.study.Name, metric, p)
	}
	return point, index, nil
}

// Point returns the point with some values, one for each parameter in their order. It returns an
// error if the study has no such point.
func (s Study) Point(values ...string) (Point, error) {
	for _, p := range s.Points() {
		if slices.Equal(p.values, values) {
			return p, nil
		}
	}
	return Point{}, fmt.Errorf("sweep: study %q has no point %s", s.Name, strings.Join(values, ", "))
}
