package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func output(t *testing.T, code int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &stdout, &stderr), stderr.String())
	return stdout.String() + stderr.String()
}

func TestRolloutComesToProd(t *testing.T) {
	out := output(t, 0)
	require.Contains(t, out, "+7.963s    stage dev: satisfied\n")
	require.Contains(t, out, "cluster prod2: deployments.apps nginx/nginx arrives")
	require.Contains(t, out, "cluster dev1: deployments.apps nginx/nginx is gone")
	require.NotContains(t, out, "lint")
	require.Equal(t, out, output(t, 0), "the same again")
	require.NotEqual(t, out, output(t, 0, "-seed", "2"))
}

func TestPrintedConditionDoesNotFitTwoClusters(t *testing.T) {
	out := output(t, 0, "-clusters")
	require.Contains(t, out, "nginx-staged-bindingpolicy\n")
	require.Contains(t, out, "lint: stage dev: the condition is true only in passing")
	_, second, found := bytes.Cut([]byte(out), []byte("nginx-two-clusters\n"))
	require.True(t, found)
	require.NotContains(t, string(second), "lint")
	require.Contains(t, string(second), "Succeeded")
}

func TestExplainSaysWhatIsAwaited(t *testing.T) {
	require.Contains(t, output(t, 0, "-explain"), `waiting: stage "dev": deployments.apps nginx/nginx: saw deployments-aggregator: sum = 0; wants`)
}

func TestMermaid(t *testing.T) {
	require.Contains(t, output(t, 0, "-mermaid"), "nginx-staged-bindingpolicy.stage.dev : 0, 7")
}

func TestPolicyOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, append(policyNumYAML, "      condition: nums('sum') == 1\n"...), 0o600))
	require.Contains(t, output(t, 1, "-policy", file), "policy.yaml:20:22: policy \"nginx-two-clusters\": spec.stages[1].condition: undeclared reference to 'nums'")
	require.NoError(t, os.WriteFile(file, bytes.Join([][]byte{policyYAML, []byte("---\n"), workloadYAML}, nil), 0o600))
	require.Contains(t, output(t, 0, "-policy", file), "Succeeded")
	require.Contains(t, output(t, 1, "-policy", "missing.yaml"), "missing.yaml")
	require.Contains(t, output(t, 2, "-what"), "Usage")
}
