package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// TestCommandsOfClients runs commands as the rules of a file say, and refuses them without the flag.
func TestCommandsOfClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: ClusterExec, metadata: {name: all},
  spec: {execs: [{local: {workDir: /, envs: [{name: GREETING, value: hello}]}}]}}`), 0o600))
	pod := containers.Container{Name: "main", Pod: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web", "namespace": "default"}}}}

	o, err := containersOf([]string{file}, true)
	require.NoError(t, err)
	var out strings.Builder
	run := func(stdin, script string) (int, error) {
		out.Reset()
		streams := containers.Streams{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out}
		return o.Exec(t.Context(), pod, containers.Command{Argv: []string{"sh", "-c", script}, Streams: streams})
	}
	code, err := run("name", `echo $GREETING; pwd; cat; echo wrong >&2; exit 3`)
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "hello\n/\nnamewrong\n", out.String())

	begun := time.Now()
	pod.Name = "other"
	code, err = o.Exec(t.Context(), pod, containers.Command{Argv: []string{"true"}, Streams: containers.Streams{Stdin: silent{}, Stdout: &out, Stderr: &out}})
	require.NoError(t, err)
	require.Zero(t, code, "a client that does not close its input")
	require.Less(t, time.Since(begun), time.Minute)

	_, err = o.Exec(t.Context(), pod, containers.Command{Argv: []string{"no-such-program"}, Streams: containers.Streams{Stdout: &out, Stderr: &out}})
	require.ErrorContains(t, err, "no-such-program")

	o, err = containersOf([]string{file}, false)
	require.NoError(t, err)
	_, err = run("", "true")
	require.ErrorContains(t, err, "--run-commands")
}

// silent is an input that neither sends anything nor ends.
type silent struct{}

func (silent) Read([]byte) (int, error) { select {} }
