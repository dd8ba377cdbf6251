package sweep_test

import (
	"context"
	"fmt"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// How long does a customer wait at one or two counters? Both get the same customers, so that ten
// seeds tell the difference.
func Example() {
	study := sweep.Study{
		Name:       "counters 1",
		Parameters: []sweep.Parameter{sweep.Numbers("counters", 1, 2)},
		Seeds:      10,
		Metrics:    []string{"wait"},
		Run: func(_ context.Context, r sweep.Run) ([]float64, error) {
			gaps := load.MustNew(r.Seed, "gaps", load.Exponential{Mean: 10})
			sizes := load.MustNew(r.Seed, "sizes", load.Exponential{Mean: 8})
			return []float64{wait(gaps, sizes, int(r.Number("counters")))}, nil
		},
	}
	result, err := sweep.Do(context.Background(), study, sweep.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range result.Estimates(0.95) {
		fmt.Println(e.Point, e.Metric, e.Interval)
	}
	points := study.Points()
	fmt.Println(result.Difference(0.95, "wait", points[0], points[1]))
	// Output:
	// counters=1 wait 32.81 ± 10 (95 %, n 10)
	// counters=2 wait 1.621 ± 0.31 (95 %, n 10)
	// -31.18 ± 9.9 (95 %, n 10) <nil>
}

// wait returns the mean waiting time of 1,000 customers.
func wait(gaps, sizes *load.Stream, counters int) (mean float64) {
	free, now := make([]float64, counters), 0.0 // when each counter is free
	for range 1000 {
		now += gaps.Next()
		first := 0
		for i, at := range free {
			if at < free[first] {
				first = i
			}
		}
		begin := max(now, free[first])
		mean += (begin - now) / 1000
		free[first] = begin + sizes.Next()
	}
	return mean
}
