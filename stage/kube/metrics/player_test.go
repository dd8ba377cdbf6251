package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/metrics"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

const ripen = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: ripen}, spec: {resourceRef: {apiGroup: v1, kind: ConfigMap},
  selector: {matchExpressions: [{key: .data.ripe, operator: DoesNotExist}]}, delay: {durationMilliseconds: 500},
  steps: [{patch: {root: data, template: "ripe: 'true'"}}]}}`

func TestAPlayerIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster := memory.New(memory.Options{})
		for _, name := range []string{"a", "b", "c"} {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": name},
			}}
			_, err := cluster.Create(ctx, obj, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		m := metrics.New()
		player := player.New(stage.MustCompile(stage.Parse("ripen.yaml", []byte(ripen))), cluster, player.Options{Trace: m.Trace})
		m.Stats(player.Stats)
		done := make(chan error)
		go func() { done <- player.Run(ctx) }()

		time.Sleep(100 * time.Millisecond) // virtual
		synctest.Wait()
		require.Equal(t, 3.0, valueOf(t, m, "stagecraft_pending"))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 0.0, valueOf(t, m, "stagecraft_pending"))
		require.Equal(t, 3.0, valueOf(t, m, "stagecraft_objects"))
		require.Equal(t, 3.0, valueOf(t, m, "stagecraft_played_total"))
		require.Equal(t, 3.0, valueOf(t, m, "stagecraft_effects_total"))
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// valueOf returns the value of a metric that has one series.
func valueOf(t *testing.T, m *metrics.Collector, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			require.Len(t, f.GetMetric(), 1)
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Failf(t, "no such metric", name)
	return 0
}
