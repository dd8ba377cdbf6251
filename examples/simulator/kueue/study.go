package kueue

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// A Published is a measurement in Kueue's rangespec.yaml. Use is in per cent, times are in seconds.
type Published struct {
	Run, Metric string
	Value       float64
}

// before is baseline with an older Kueue. The file gives two of its figures.
const before = "baseline before 0.18"

// Results returns the published results, run by run.
func Results() []Published {
	return []Published{
		{"baseline", "wall", 351.1164}, {"baseline", "use", 55.9},
		{"baseline", "small", 215.468}, {"baseline", "medium", 76.768}, {"baseline", "large", 16.501},
		{before, "use", 58.7}, {before, "large", 6.666},
		{"large-scale", "wall", 1179.411}, {"large-scale", "use", 38.64},
		{"large-scale", "small", 700.379}, {"large-scale", "medium", 256.413}, {"large-scale", "large", 105.604},
		{"tas", "wall", 401.472}, {"tas", "use", 62.41},
		{"tas", "small-balanced-rack", 237.846}, {"tas", "small-preferred-rack", 246.090}, {"tas", "small-required-rack", 246.755},
		{"tas", "medium-balanced-rack", 106.303}, {"tas", "medium-preferred-rack", 106.324}, {"tas", "medium-required-rack", 107.071},
		{"tas", "large-balanced-rack", 37.862}, {"tas", "large-preferred-rack", 39.573}, {"tas", "large-required-rack", 39.625},
	}
}

// metrics are the names of all published metrics, and the number of writes for each Workload.
func metrics() []string {
	names, seen := []string{"writes of a Workload"}, map[string]bool{}
	for _, p := range Results() {
		if !seen[p.Metric] {
			seen[p.Metric] = true
			names = append(names, p.Metric)
		}
	}
	return names
}

// Study sweeps the runs with ten seeds. The files NAME.generator.yaml are in a folder.
func Study(dir string, o Options) (sweep.Study, error) {
	names, configs := []string{"baseline", "large-scale", "tas"}, map[string]Config{}
	for _, name := range names {
		file := filepath.Join(dir, name+".generator.yaml")
		text, err := os.ReadFile(file)
		if err == nil {
			configs[name], err = Parse(file, text)
		}
		if err != nil {
			return sweep.Study{}, fmt.Errorf("kueue: %w (the files are published at https://github.com/kubernetes-sigs/kueue, test/performance/scheduler/configs/NAME/generator.yaml)", err)
		}
	}
	configs[before] = configs["baseline"]
	return sweep.Study{
		Name:       "kueue 1",
		Parameters: []sweep.Parameter{{Name: "run", Values: append(names, before)}},
		Seeds:      10,
		Metrics:    metrics(),
		Run: func(ctx context.Context, at sweep.Run) ([]float64, error) {
			mine := o
			mine.Seed, mine.Alike = at.Seed, o.Alike && at.Value("run") != before
			r, err := Run(ctx, configs[at.Value("run")], mine)
			return r.values(), err
		},
	}, nil
}

// values are the values of the metrics; NaN for classes that a run does not have.
func (r Result) values() []float64 {
	values := []float64{float64(r.Writes) / float64(r.Workloads)}
	for _, name := range metrics()[1:] {
		switch d, ok := r.Admission[name]; {
		case name == "wall":
			values = append(values, r.Wall.Seconds())
		case name == "use":
			values = append(values, r.Use)
		case ok:
			values = append(values, d.Seconds())
		default:
			values = append(values, math.NaN())
		}
	}
	return values
}
