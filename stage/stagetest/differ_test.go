package stagetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const podFiles = `
-- stages.yaml --
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: go}, spec: {resourceRef: {kind: Pod}, selector: {}, steps: [{delete: true}]}}
-- pod.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: web}}
`

// TestDifferencesAreShownWithTheirPlace is within the package, because Run reports to a testing.T
// that the test does not own.
func TestDifferencesAreShownWithTheirPlace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txtar")
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }

	write("seed 1\napply pod.yaml\nshow Pod web .kind\nsettle" + podFiles +
		"-- want --\n> apply pod.yaml\n+0s        Pod default/web scheduled stay in 0s\n> show Pod web .kind\nPod\n> settle\n+0s        Pod default/web gone\n+0s        settled\n")
	require.EqualError(t, check(name, Options{}), name+`:11: the trace differs (-want +got):
  > apply pod.yaml
- +0s        Pod default/web scheduled stay in 0s
- > show Pod web .kind
- Pod
- > settle
+ +0s        Pod default/web scheduled go in 0s
+ > show Pod web .kind
+ Pod
+ > settle
+ +0s        Pod default/web played go
+            delete
  +0s        Pod default/web gone
  +0s        settled
`)

	write("settle" + podFiles)
	require.EqualError(t, check(name, Options{}), name+": the story has no file want; it would be:\n> settle\n+0s        settled\n")
	require.NoError(t, check(name, Options{Update: true}))
	require.NoError(t, check(name, Options{}))
}
