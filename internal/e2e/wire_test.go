package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// wire is where what the server sends is kept, byte by byte: the reader of package stage/kube is tested with it.
const wire = "../../stage/kube/internal/codec/testdata"

// TestWire writes anew what the server sends of Pods.
func TestWire(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: wire}}")
	playing(t, cluster, stage.PlayerOptions{Namespace: "wire"}, presets.PodFast())
	names := []string{"web-7c5ddbdf54-2x8kq", "web-7c5ddbdf54-9wz4v", "web-7c5ddbdf54-lm7tp"}
	for _, name := range names {
		create(t, cluster, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, namespace: wire, labels: {app: web, pod-template-hash: 7c5ddbdf54}}, spec: {nodeName: node-1,
			containers: [{name: web, image: "registry.example.com/web:1.2", env: [{name: TEXT, value: "a \"quoted\" line\nand Füße"}], resources: {requests: {cpu: 250m, memory: 64Mi}}}]}}`)
	}
	for _, name := range names {
		eventually(t, name+" runs", func() bool { return phase(t, cluster, "wire", name) == "Running" })
	}
	const pods = "/api/v1/namespaces/wire/pods"
	for file, path := range map[string]string{
		"pod.json": pods + "/" + names[0], "pods.json": pods, "missing.json": pods + "/none",
		"watch.json": pods + "?watch=1&timeoutSeconds=1&resourceVersion=1", "resources.json": "/apis/apps/v1",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(wire, file), fetch(t, path), 0o644))
	}
}

// fetch reads an answer of the server.
func fetch(t *testing.T, path string) []byte {
	t.Helper()
	client, err := rest.HTTPClientFor(plane.Config())
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(plane.Config().Host, "/")+path, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return data
}
