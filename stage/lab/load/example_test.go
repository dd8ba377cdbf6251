package load_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

func ExampleSchedule() {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	gaps, sizes := load.MustNew(1, "gaps", load.Exponential{Mean: 50}), load.MustNew(1, "sizes", load.Values{2, 4, 6, 8})
	start := sim.Now()
	load.Schedule(sim, gaps.Arrivals(3), func(_ context.Context, n int) error {
		fmt.Println("job", n, "of size", sizes.Duration(), "after", sim.Now().Sub(start).Round(time.Millisecond))
		return nil
	})
	if err := sim.Advance(context.Background(), time.Hour); err != nil {
		fmt.Println(err)
	}
	// Output:
	// job 0 of size 4s after 28.409s
	// job 1 of size 4s after 1m37.295s
	// job 2 of size 6s after 6m52.541s
}

func ExampleReadCSV() {
	trace := `submitted,user,size
2026-01-01T12:00:00Z,ann,90s
2026-01-01T12:00:30Z,bob,soon
`
	_, err := load.ReadCSV("jobs.csv", strings.NewReader(trace), load.Columns{At: "submitted", Numbers: []string{"size"}})
	fmt.Println(err)
	rows, _ := load.ReadCSV("jobs.csv", strings.NewReader(strings.ReplaceAll(trace, "soon", "20")), load.Columns{At: "submitted", Numbers: []string{"size"}})
	for _, r := range rows {
		fmt.Println(r.At, r.Text["user"], r.Numbers["size"])
	}
	// Output:
	// jobs.csv:3: column "size": "soon" is no finite number and no duration
	// 0s ann 90
	// 30s bob 20
}
