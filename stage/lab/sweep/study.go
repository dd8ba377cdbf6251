package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Study says which parameters vary and which metrics each run measures.
type Study struct {
	// Name is in each row. Rows with another name are refused. Put a version into the name that
	// changes whenever the values of a run change.
	Name string
	// Parameters are the varied parameters: each combination of their values is a point. The last
	// parameter varies first. A study without parameters has one point.
	Parameters []Parameter
	// Seeds is how many there are: 1, 2, …; at least 1. With Stop it is the most.
	Seeds int
	// Metrics are the names of the metrics that each run measures; at least one.
	Metrics []string
	// Run runs one simulation and returns a value for each of Metrics, in that order. It must
	// depend only on the run, and stop when ctx is done. NaN is a missing value; infinity is an
	// error.
	Run func(ctx context.Context, r Run) ([]float64, error)
	// Stop says when a point has enough seeds. Default: a point gets all seeds.
	Stop *Stop
}

// A Parameter has a name and the values that it takes.
type Parameter struct {
	Name   string
	Values []string
}

// Numbers returns a parameter whose values are numbers, in their shortest form.
func Numbers(name string, values ...float64) Parameter {
	p := Parameter{Name: name}
	for _, v := range values {
		p.Values = append(p.Values, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return p
}

// A Stop ends a point when the interval of the mean of a metric is narrow enough: when its ± is at
// most Half, or at most Relative times the mean. It is looked at after Min seeds, and then after
// each quarter more of them.
type Stop struct {
	Metric   string
	Level    float64 // of the interval; default 0.95
	Half     float64 // in the unit of the metric
	Relative float64 // 0.05 is 5 % of the mean
	Min      int     // default and least 5
}

// A Run is one simulation.
type Run struct {
	Point
	Seed uint64
}

// String prints the point and the seed.
func (r Run) String() string { return strings.TrimSpace(fmt.Sprintf("%s seed=%d", r.Point, r.Seed)) }

// A Point is a value of each parameter of a study. [Study.Points] makes them.
type Point struct {
	names, values []string
}

// Value returns the value of a parameter. It panics if the study has no such parameter, because
// that is a mistake in the program.
func (p Point) Value(parameter string) string {
	i := slices.Index(p.names, parameter)
	if i < 0 {
		panic(fmt.Sprintf("sweep: no parameter %q", parameter))
	}
	return p.values[i]
}

// Number returns the value of a parameter as a number. It panics if the value is not a number.
func (p Point) Number(parameter string) float64 {
	v, err := strconv.ParseFloat(p.Value(parameter), 64)
	if err != nil {
		panic(fmt.Sprintf("sweep: parameter %q: %v", parameter, err))
	}
	return v
}

// String prints "policy=fifo nodes=2".
func (p Point) String() string {
	words := make([]string, len(p.names))
	for i, name := range p.names {
		words[i] = name + "=" + p.values[i]
	}
	return strings.Join(words, " ")
}

// Points returns all points of a study, in order.
func (s Study) Points() []Point {
	points := []Point{{}}
	for _, p := range s.Parameters {
		var next []Point
		for _, base := range points {
			for _, v := range p.Values {
				next = append(next, Point{append(slices.Clip(base.names), p.Name), append(slices.Clip(base.values), v)})
			}
		}
		points = next
	}
	return points
}

// check returns everything that is wrong with a study.
func (s Study) check() error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("sweep: study %q: "+format, append([]any{s.Name}, args...)...))
		}
	}
	refuse(s.Name == "", "it has no name")
	refuse(s.Seeds < 1, "%d seeds: want at least 1", s.Seeds)
	refuse(s.Run == nil, "it has no function Run")
	refuse(len(s.Metrics) == 0, "it has no metrics")
	refuse(!distinct(s.Metrics), "metrics %q: want distinct names", s.Metrics)
	names := make([]string, len(s.Parameters))
	for i, p := range s.Parameters {
		names[i] = p.Name
		refuse(len(p.Values) == 0 || !distinct(p.Values), "parameter %q: values %q: want at least one, all distinct", p.Name, p.Values)
	}
	refuse(!s.valid(), "a name or a value is no UTF-8")
	refuse(!distinct(names), "parameters %q: want distinct names", names)
	refuse(slices.ContainsFunc(names, reserved) || slices.ContainsFunc(s.Metrics, isEmpty), "%q and %q: want names that are not empty, nor those of other columns", names, s.Metrics)
	if s.Stop != nil {
		refuse(!slices.Contains(s.Metrics, s.Stop.Metric), "it stops by metric %q, which it does not measure: want one of %s", s.Stop.Metric, strings.Join(s.Metrics, ", "))
		refuse(!(s.Stop.Half >= 0 && s.Stop.Relative >= 0 && s.Stop.Half+s.Stop.Relative > 0), "it stops at half %v, relative %v: want one above 0", s.Stop.Half, s.Stop.Relative)
		refuse(!(s.Stop.Level >= 0 && s.Stop.Level < 1), "it stops by level %v: want less than 1", s.Stop.Level)
	}
	return errors.Join(errs...)
}

// valid reports whether JSON keeps all texts unchanged.
func (s Study) valid() bool {
	texts := append([]string{s.Name}, s.Metrics...)
	for _, p := range s.Parameters {
		texts = append(append(texts, p.Name), p.Values...)
	}
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

func distinct(list []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(list)))) == len(list)
}

func isEmpty(name string) bool { return name == "" }

// reserved are the other columns of a table.
func reserved(name string) bool {
	return slices.Contains([]string{"", "study", "seed", "metric", "value"}, name)
}
