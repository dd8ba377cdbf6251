package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorpus runs the recorded cases where they are at hand.
func TestCorpus(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the recorded cases are not here: ", err)
	}
	var out strings.Builder
	failed, err := run(&out, corpus, "", true)
	require.NoError(t, err)
	require.Zero(t, failed, out.String())
	require.Contains(t, out.String(), "suite stage/kwok-pod-general 7/7\n")
}

// TestRunner runs our own corpus. One of its cases is wrong.
func TestRunner(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"stage/own/stages/a.yaml": `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a},
  spec: {resourceRef: {kind: Pod}, selector: {}, delay: {durationMilliseconds: 5},
  next: {event: {type: Normal, reason: R, message: m}, statusTemplate: "ip: {{ PodIP }}"}}}`,
		"stage/own/right.input.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: p}}",
		"stage/own/right.output.yaml": `{apiGroup: v1, kind: Pod, name: p, stages: [{stage: a, weight: 0.0, delay: [5000000],
  next: [{kind: event, type: Normal, reason: R, message: m}, {kind: patch, type: application/strategic-merge-patch+json,
  subresource: status, data: {status: {ip: <PodIP>}}}]}]}`,
		"stage/own/wrong.input.yaml":  "{apiVersion: v1, kind: Node, metadata: {name: x}}",
		"stage/own/wrong.output.yaml": "{apiGroup: v1, kind: Node, name: z, stages: []}",
		"stage-invalid/refused.yaml": `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a},
  spec: {resourceRef: {kind: Pod}, selector: {matchExpressions: [{key: '.a |', operator: Exists}]}}}`,
		"stage-invalid/sound.yaml": `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {resourceRef: {kind: Pod}, selector: {}}}`,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	var out strings.Builder
	failed, err := run(&out, dir, "", true)
	require.NoError(t, err)
	require.Equal(t, 2, failed)
	require.Equal(t, `suite stage/own 1/2
FAIL stage/own wrong
- name: z
+ name: x

suite stage-invalid 1/2
FAIL stage-invalid sound
compiled without an error
`, out.String())

	_, err = run(&out, filepath.Join(dir, "nowhere"), "", false)
	require.Error(t, err)
}
