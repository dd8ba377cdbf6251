package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil))
	require.Contains(t, out.String(), `Pod web: next is "pod-create", in 1s to 5s`)
	require.Contains(t, out.String(), "Ready: 100% of the runs, after 4s to 20s")

	faulty := filepath.Join(t.TempDir(), "stages.yaml")
	require.NoError(t, os.WriteFile(faulty, []byte("{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {selectr: {}}}"), 0o600))
	require.ErrorContains(t, run(t.Context(), &out, []string{faulty}), "stages.yaml:1:")
	require.ErrorContains(t, run(t.Context(), &out, []string{"none.yaml"}), "none.yaml")
}
