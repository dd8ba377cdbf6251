package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	deploymentNew = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "1", "generation": 1},
  "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}, "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}}`
	deploymentReady = `{"type": "MODIFIED", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "1", "generation": 1},
  "spec": {"replicas": 1}, "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]}}}`
	replicaSet = `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "2", "labels": {"app": "web"},
  "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": true}]}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}},
 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-a", "namespace": "shop", "uid": "3", "labels": {"app": "web"},
  "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "2", "controller": true}]},
  "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}}]}`
	configMap = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}`
	wanted    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"
)

// follow runs -wait in virtual time while lines of a stream come every ten seconds.
func follow(t *testing.T, args string, lines ...string) (code int, stdout, stderr string) {
	file := filepath.Join(t.TempDir(), "wanted.yaml")
	require.NoError(t, os.WriteFile(file, []byte(wanted), 0o600))
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		done := make(chan struct{})
		go func() {
			for _, line := range lines {
				_, _ = io.WriteString(writer, line)
				select {
				case <-done:
				case <-time.After(10 * time.Second):
				}
			}
			writer.Close()
		}()
		var out, errs bytes.Buffer
		code = run(append(strings.Fields("-wait "+args), file), reader, &out, &errs)
		close(done)
		reader.Close()
		stdout, stderr = out.String(), errs.String()
	})
	return code, stdout, stderr
}

func TestWaitShowsProgress(t *testing.T) {
	code, stdout, stderr := follow(t, "", configMap, deploymentNew, replicaSet, deploymentReady)
	require.Equal(t, 0, code, stderr)
	begin, rest, _ := strings.Cut(stdout, "00:00:10 ") // what is of one instant has no order
	require.Contains(t, begin, "00:00:00 Deployment.apps shop/web: NotFound: Resource not found (")
	require.Contains(t, begin, "00:00:00 ConfigMap shop/settings: Current: Resource is always ready (")
	require.Equal(t, `Deployment.apps shop/web: InProgress, LessAvailable: Available: 0/1 (1 of 2 done, 1 in progress)
00:00:20 Deployment.apps shop/web: InProgress for 10s, LessAvailable: Available: 0/1; web-1-a: 0/3 nodes are available (1 of 2 done, 1 in progress)
00:00:30 Deployment.apps shop/web: Current: Deployment is available. Replicas: 1 (2 of 2 done)
2 of 2 done
`, rest)
}

func TestWaitNamesTheCulpritFirst(t *testing.T) {
	code, stdout, stderr := follow(t, "-timeout 25s", configMap, deploymentNew, replicaSet)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "\nheld up by Deployment.apps shop/web: InProgress for 15s, LessAvailable: Available: 0/1; web-1-a: 0/3 nodes are available\n1 of 2 done, 1 in progress\n")
	require.Equal(t, "readiness: context deadline exceeded\n", stderr)

	code, stdout, stderr = follow(t, "", deploymentReady)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "held up by ConfigMap shop/settings: NotFound for ")
	require.Equal(t, "readiness: the input has ended\n", stderr)
}

func TestWaitRefuses(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run([]string{"-wait"}, nil, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-wait: name the files of the objects to wait for")
	code, _, text := follow(t, "", "{nonsense")
	require.Equal(t, 1, code)
	require.Contains(t, text, "the input has ended")
	require.Contains(t, text, "invalid character")
}
