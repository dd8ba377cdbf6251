package simulated_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// How long does a ReplicaSet take to create 1,000 Pods? The example has three answers: nothing
// takes time; a cluster; and a cluster whose controller manager can send more requests.
func ExampleClusterLike() {
	fast := simulation.ClusterLike()
	replicaSets := fast.Controllers["replicaset"]
	replicaSets.QPS, replicaSets.Burst = 100, 200
	fast.Controllers["replicaset"] = replicaSets

	for _, t := range []*simulation.Timing{nil, simulation.ClusterLike(), fast} {
		fmt.Println(createThousand(t).Round(time.Second))
	}
	// Output:
	// 0s
	// 49s
	// 8s
}

func createThousand(t *simulation.Timing) (took time.Duration) {
	ctx := context.Background()
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{
		Controllers: []reconcile.Controller{workloads.ReplicaSets()}, Timing: t,
	})
	if err != nil {
		panic(err)
	}
	defer sim.Close()
	start := sim.Now()
	err = sim.On(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, func(context.Context, watch.Event) error {
		took = sim.Now().Sub(start)
		return nil
	})
	if err != nil {
		panic(err)
	}
	err = sim.Cluster().Load(ctx, []byte(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: default}, spec: {
  replicas: 1000, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`))
	if err != nil {
		panic(err)
	}
	if err := sim.Advance(ctx, time.Hour); err != nil {
		panic(err)
	}
	return took
}
