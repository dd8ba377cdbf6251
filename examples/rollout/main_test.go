package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRolloutComesToProd(t *testing.T) {
	var out, again bytes.Buffer
	require.NoError(t, rehearseKubeStellar(t.Context(), false, &out))
	requireInOrder(t, out.String(), "cluster dev1: deployments.apps nginx/nginx arrives", "waiting: ", "stage dev: succeeded",
		"cluster prod1: deployments.apps nginx/nginx arrives", "Succeeded")
	require.NoError(t, rehearseKubeStellar(t.Context(), false, &again))
	require.Equal(t, out.String(), again.String())
}

// With updates: Staged another version takes its turn in each stage.
func TestAnotherVersionTakesItsTurns(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, rehearseKubeStellar(t.Context(), true, &out))
	requireInOrder(t, out.String(), "Succeeded", "+2m0s", "cluster dev1: from r1-", "cluster prod1: from r1-", "Succeeded", "cluster dev1 had r1-")
}

// Over transports that can place an old revision, each cluster of prod gets its own back, and dev keeps the
// new one.
func TestRollbackOverPorts(t *testing.T) {
	for _, argo := range []bool{false, true} {
		var out bytes.Buffer
		require.NoError(t, playPort(t.Context(), argo, &out))
		requireInOrder(t, out.String(), "cluster dev1: from nothing to version 1", "cluster prod1: from nothing to version 1", "Succeeded: ", "+1m0s",
			"cluster dev1: from 1 to version 2", "cluster prod1: from 1 to version 2", "cluster prod2: from 1 to version 2", "RollingBack: ",
			"cluster prod1: from 2 to version 1", "cluster prod2: from 2 to version 1", "RolledBack: ")
		require.NotContains(t, out.String(), "dev1: from 2")
	}
}

func requireInOrder(t *testing.T, text string, lines ...string) {
	t.Helper()
	rest := text
	for _, line := range lines {
		_, after, found := strings.Cut(rest, line)
		require.True(t, found, "%s\n%s", line, text)
		rest = after
	}
}
