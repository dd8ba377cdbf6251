package simulated_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// BenchmarkCluster takes 100,000 Pods through the scheduler and the general lifecycle on 1,000
// nodes: 100 arrive each second.
func BenchmarkCluster(b *testing.B) {
	const nodes, count = 1000, 100_000
	b.ReportAllocs()
	var virtual time.Duration
	for b.Loop() {
		sim := newCluster(b, nodes)
		load.Schedule(sim, load.MustNew(1, "gaps", load.Fixed(0.01)).Arrivals(count), func(ctx context.Context, n int) error {
			_, err := sim.Cluster().Create(ctx, newPod(n), metav1.CreateOptions{})
			return err
		})
		begin := sim.Now()
		settled, err := sim.Settle(context.Background(), time.Hour)
		require.NoError(b, err)
		require.True(b, settled)
		virtual += sim.Now().Sub(begin)
		running, err := sim.Cluster().List(context.Background(), pods, "", metav1.ListOptions{FieldSelector: "status.phase=Running"})
		require.NoError(b, err)
		require.Len(b, running.Items, count)
	}
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
	b.ReportMetric(count*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}

// newCluster has nodes, the scheduler and the other controllers, and the general lifecycle of Pods.
func newCluster(t testing.TB, nodes int) *simulation.Simulation {
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodGeneral()), simulation.Options{
		Seed: 1, Controllers: controllers.All(controllers.Options{}), Filter: controllers.Bound,
	})
	require.NoError(t, err)
	for i := range nodes {
		text := fmt.Appendf(nil, `{apiVersion: v1, kind: Node, metadata: {name: node-%04d}, status: {allocatable: {cpu: "32", memory: 128Gi, pods: "110"}}}`, i)
		require.NoError(t, sim.Cluster().Load(context.Background(), text))
	}
	return sim
}

func newPod(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("pod-%06d", n)},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "c", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "100Mi"}},
		}}},
	}}
}
