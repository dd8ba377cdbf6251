package main

import (
	"errors"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

// TestHundredPods is the short version of the command. A busy machine takes longer than the rate
// limit asks for, but nothing may be faster: neither the real controller nor the simulated one.
func TestHundredPods(t *testing.T) {
	log.SetLogger(logr.Discard())
	simulated, err := simulate(t.Context(), 100, limits[0])
	require.NoError(t, err)
	require.InDelta(t, 3.9, simulated.Seconds(), 0.4, "measured on a quiet machine: 3.86 s, twice")

	assets, err := controlplane.Assets("../../kubebin", os.Stderr)
	if errors.Is(err, controlplane.ErrNoAssets) {
		t.Skip(err)
	}
	require.NoError(t, err)
	plane, err := controlplane.Start(assets)
	require.NoError(t, err)
	defer func() { require.NoError(t, plane.Stop()) }()
	if _, err := os.Stat(plane.Program("kube-controller-manager")); err != nil {
		t.Skip(err)
	}
	measured, err := measure(t.Context(), plane, 100, limits[0])
	require.NoError(t, err)
	t.Logf("100 Pods: simulated %s, measured %s", simulated, measured)
	require.Greater(t, measured.Seconds(), 0.99*(100-30)/20, "the limit: 30 at once, then 20 a second")
}

// TestTheLimitDecides simulates the measurement of the command.
func TestTheLimitDecides(t *testing.T) {
	for n, want := range map[int]float64{1000: 49.8, 3000: 150} {
		got, err := simulate(t.Context(), n, limits[0])
		require.NoError(t, err)
		require.InEpsilon(t, want, got.Seconds(), 0.02)
	}
	free, err := simulate(t.Context(), 1000, limits[1])
	require.NoError(t, err)
	require.Less(t, free.Seconds(), 5.0)
}
