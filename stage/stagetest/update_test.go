package stagetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

// A story is a source file: an update that fails in the middle, as on a full disk, leaves it whole.
func TestUpdateOnAFullDisk(t *testing.T) {
	if story := os.Getenv("STAGETEST_STORY"); story != "" {
		stagetest.Run(t, story, stagetest.Options{Update: true})
		return
	}
	const pod = `advance 1s
-- stages.yaml --
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {resourceRef: {kind: Pod}, selector: {}, steps: [{delete: true}]}}
-- pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web}
`
	text := strings.Repeat("# "+strings.Repeat("a story ", 12)+"\n", 50) + "apply pod.yaml\n" + pod
	story := filepath.Join(t.TempDir(), "long.txtar")
	require.NoError(t, os.WriteFile(story, []byte(text), 0o600))
	cmd := exec.Command("sh", "-c", `ulimit -f 2; exec "$0" -test.run '^TestUpdateOnAFullDisk$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "STAGETEST_STORY="+story)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "file too large")
	after, err := os.ReadFile(story)
	require.NoError(t, err)
	require.Equal(t, text, string(after))
}
