package fault_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/fault"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A Node is removed every ten minutes, and comes back a minute later.
func ExampleSchedule() {
	ctx := context.Background()
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast()), simulation.Options{})
	if err != nil {
		panic(err)
	}
	if err := sim.Cluster().Load(ctx, []byte(`{apiVersion: v1, kind: Node, metadata: {name: node-1}}`)); err != nil {
		panic(err)
	}
	start := sim.Now()
	err = sim.On(nodes, func(_ context.Context, e watch.Event) error {
		if e.Type != watch.Modified {
			fmt.Println(sim.Now().Sub(start), e.Type)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	err = fault.Schedule(sim, fault.Plan{
		Seed: 1, Name: "nodes", Kind: nodes,
		Arrivals:  load.MustNew(1, "faults", load.Fixed(600)).Arrivals(2),
		Durations: load.MustNew(1, "repairs", load.Fixed(60)),
	}, fault.Remove())
	if err != nil {
		panic(err)
	}
	if err := sim.Advance(ctx, time.Hour); err != nil {
		panic(err)
	}
	// Output:
	// 0s ADDED
	// 10m0s DELETED
	// 11m0s ADDED
	// 20m0s DELETED
	// 21m0s ADDED
}
