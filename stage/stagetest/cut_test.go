package stagetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoriesThatAreCutOff cuts a story at every byte. A story without its end fails: half of its
// commands, objects or wanted trace do not pass as a story.
func TestStoriesThatAreCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "story.txtar")
	const story = `apply pod.yaml
advance 1s
advance 1s
-- stages.yaml --
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {resourceRef: {kind: Pod}, selector: {}, steps: [{delete: true}]}}
-- pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web}
`
	require.NoError(t, os.WriteFile(name, []byte(story), 0o644))
	require.NoError(t, check(name, Options{Update: true}))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, check(name, Options{}))
	for cut := range len(strings.TrimRight(string(data), "\n")) {
		require.NoError(t, os.WriteFile(name, data[:cut], 0o644))
		err := check(name, Options{})
		require.Error(t, err, "cut at %d", cut)
		require.Contains(t, err.Error(), name)
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, data[:cut], after)
	}
}
