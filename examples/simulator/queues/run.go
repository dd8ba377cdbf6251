package queues

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// Study sweeps models and loads, with ten seeds. [Metrics] returns its metrics.
func Study(models []string, loads []float64, r Run) sweep.Study {
	return sweep.Study{
		Name:       fmt.Sprintf("queues 1, %d customers after %d", r.Customers, r.Warmup),
		Parameters: []sweep.Parameter{{Name: "model", Values: models}, sweep.Numbers("load", loads...)},
		Seeds:      10,
		Metrics:    Metrics(),
		Run: func(ctx context.Context, at sweep.Run) ([]float64, error) {
			return r.at(ctx, at, at.Seed)
		},
	}
}

// Metrics are the names of the metrics: "wait", or "wait of the first" and "wait of the second" in
// a model with two classes.
func Metrics() []string { return []string{"wait", "wait of the first", "wait of the second"} }

// at runs the model of a point.
func (r Run) at(ctx context.Context, at sweep.Run, seed uint64) ([]float64, error) {
	m, ok := Named(at.Value("model"))
	if !ok {
		return nil, fmt.Errorf("queues: no model %q", at.Value("model"))
	}
	r.Model, r.Load, r.Seed = m, at.Number("load"), seed
	waits, err := r.Waits(ctx)
	if err != nil || len(waits) == 2 {
		return append([]float64{math.NaN()}, waits...), err
	}
	return append(waits, math.NaN(), math.NaN()), nil
}

// Answer returns the theoretical value for an estimate of a study. It returns false if the model
// does not have the metric.
func Answer(e sweep.Estimate) (seconds float64, ok bool) {
	m, ok := Named(e.Point.Value("model"))
	class := max(0, slices.Index(Metrics(), e.Metric)-1)
	return m.Wait(e.Point.Number("load"), class), ok && (e.Metric == "wait") == (m.classes() == 1)
}

// Coverage returns a study of very many sweeps of five seeds each, the points, to count how many of
// their intervals contain the theoretical value.
func Coverage(models []string, sweeps int, r Run) sweep.Study {
	s := Study(models, []float64{0.5}, r)
	all := make([]float64, sweeps)
	for i := range all {
		all[i] = float64(i)
	}
	s.Seeds, s.Name = 5, "coverage of "+s.Name
	s.Parameters = append(s.Parameters, sweep.Numbers("sweep", all...))
	s.Run = func(ctx context.Context, at sweep.Run) ([]float64, error) {
		return r.at(ctx, at, uint64(at.Number("sweep"))*uint64(s.Seeds)+at.Seed)
	}
	return s
}

// A Run is one simulation of a model.
type Run struct {
	Model
	Load      float64 // of each server, above 0 and below 1
	Seed      uint64
	Warmup    int // customers of each class that do not count
	Customers int // in all
}

// Waits simulates until the last customer has left, and returns the mean waiting time of each class
// in seconds. It fails if Little's law does not hold.
func (r Run) Waits(ctx context.Context) ([]float64, error) {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Seed: r.Seed})
	if err != nil {
		return nil, err
	}
	station, err := r.schedule(sim)
	if err != nil {
		return nil, err
	}
	if _, err := sim.Settle(ctx, math.MaxInt64); err != nil {
		return nil, err
	}
	waits := make([]float64, r.classes())
	for class := range waits {
		waits[class] = station.MeanWait(class, r.Warmup)
	}
	return waits, station.CheckLittle()
}

// schedule makes the customers arrive. Gaps, sizes and classes are drawn from separate streams, so
// that models with the same seed get the same customers.
func (r Run) schedule(clock load.Clock) (*Station, error) {
	gaps, err := load.New(r.Seed, "gaps", load.Exponential{Mean: 1 / (r.Load * float64(cmp.Or(r.Servers, 1)))})
	if err != nil {
		return nil, err
	}
	var service load.Distribution = load.Exponential{Mean: 1}
	if r.Service != nil {
		service = r.Service
	}
	sizes, err := load.New(r.Seed, "sizes", service)
	if err != nil {
		return nil, err
	}
	classes := load.MustNew(r.Seed, "classes", load.Uniform{High: 1})
	station := NewStation(clock, cmp.Or(r.Servers, 1), r.classes())
	load.Schedule(clock, gaps.Arrivals(r.Customers), func(context.Context, int) error {
		class := int(classes.Next() * float64(r.classes()))
		station.Arrive(class, sizes.Duration())
		return nil
	})
	return station, nil
}

// A Counted is how many intervals of one metric of a model contain the theoretical value.
type Counted struct {
	Model, Metric     string
	Contained, Sweeps int
}

// String prints "M/M/1 wait: 951 of 1000".
func (c Counted) String() string {
	return fmt.Sprintf("%s %s: %d of %d", c.Model, c.Metric, c.Contained, c.Sweeps)
}

// Count counts the estimates of a study, by model and metric in their order.
func Count(estimates []sweep.Estimate) []Counted {
	var list []Counted
	for _, e := range estimates {
		want, ok := Answer(e)
		if !ok {
			continue
		}
		model := e.Point.Value("model")
		i := slices.IndexFunc(list, func(c Counted) bool { return c.Model == model && c.Metric == e.Metric })
		if i < 0 {
			i, list = len(list), append(list, Counted{Model: model, Metric: e.Metric})
		}
		list[i].Sweeps++
		if e.Contains(want) {
			list[i].Contained++
		}
	}
	return list
}
