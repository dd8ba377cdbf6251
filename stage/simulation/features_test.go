package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// TestWhatIsNotModelledIsTraced holds that each use is in the trace once, and in the report with a
// count, a field that admission drops included.
func TestWhatIsNotModelledIsTraced(t *testing.T) {
	var traced []string
	report := features.NewReport(features.Options{})
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Features: report, Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceNotModelled {
			traced = append(traced, e.String())
		}
	}})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: `+name+`, namespace: default}, spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, namespace: default}, spec: {resourceClaims: [{name: gpu, resourceClaimName: gpu}]}}
`)))
	}
	require.NoError(t, sim.Advance(t.Context(), time.Second))
	require.Len(t, traced, 2)
	require.Contains(t, traced[0]+traced[1], "not modelled")
	require.Contains(t, traced[0]+traced[1], "StatefulSet spec.updateStrategy.rollingUpdate.maxUnavailable")
	require.Contains(t, traced[0]+traced[1], "Pod spec.resourceClaims")
	for _, u := range report.Uses() {
		require.Equal(t, 2, u.Count, u.String())
	}
}
