package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// wire is the directory of the recorded bytes of the server. The tests of the reader in package
// stage/kube use them.
const wire = "../../../stage/kube/internal/codec/testdata"

// TestWire writes the recorded answers about Pods again.
func TestWire(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: wire}}")
	startPlaying(t, cluster, player.Options{Namespace: "wire"}, presets.PodFast())
	names := []string{"web-7c5ddbdf54-2x8kq", "web-7c5ddbdf54-9wz4v", "web-7c5ddbdf54-lm7tp"}
	for _, name := range names {
		create(t, cluster, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, namespace: wire,
  labels: {app: web, pod-template-hash: 7c5ddbdf54}}, spec: {nodeName: node-1,
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

// TestProtobufIsReadAsJSON reads all that a server has, of kinds that its controllers have filled
// in, in both ways.
func TestProtobufIsReadAsJSON(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: both}}")
	create(t, cluster, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: both}, spec: {selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.test/web:1", ports: [{containerPort: 80}],
			readinessProbe: {httpGet: {port: http}}, securityContext: {}, resources: {limits: {memory: 1Gi}}}]}}}}`)
	create(t, cluster, "{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: both}, data: {a: YWJj, b: ''}}")
	create(t, cluster, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: claims, namespace: both}, spec: {serviceName: web, replicas: 0, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}},
		volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`)
	create(t, cluster, "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: both}, spec: {drivers: []}}") // 1.37 gave it a status
	text, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	seen := 0
	for gvk, resource := range listed(t) {
		want, err := text.Resource(resource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		if want.GetResourceVersion() == "" {
			continue // ComponentStatuses are found out each time
		}
		same := metav1.ListOptions{ResourceVersion: want.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		got, err := cluster.List(t.Context(), gvk, "", same)
		require.NoError(t, err, gvk)
		for _, object := range want.Items {
			withoutTypesOfClaims(t, object.Object)
		}
		require.Equal(t, want, got, gvk)
		seen += len(got.Items)
	}
	require.Greater(t, seen, 100)
}

// withoutTypesOfClaims removes apiVersion and kind from the volumeClaimTemplates of a StatefulSet.
// protobuf has the type only of a whole object, and no other built-in kind contains objects.
func withoutTypesOfClaims(t *testing.T, set map[string]any) {
	claims, _, err := unstructured.NestedSlice(set, "spec", "volumeClaimTemplates")
	require.NoError(t, err)
	if len(claims) == 0 {
		return
	}
	for _, claim := range claims {
		delete(claim.(map[string]any), "apiVersion")
		delete(claim.(map[string]any), "kind")
	}
	require.NoError(t, unstructured.SetNestedSlice(set, claims, "spec", "volumeClaimTemplates"))
}

// listed are the built-in kinds that can be listed.
func listed(t *testing.T) map[schema.GroupVersionKind]schema.GroupVersionResource {
	client, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	require.NoError(t, err)
	groups, err := client.ServerPreferredResources()
	require.NoError(t, err)
	kinds := map[schema.GroupVersionKind]schema.GroupVersionResource{}
	for _, group := range groups {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		require.NoError(t, err)
		for _, r := range group.APIResources {
			if slices.Contains(r.Verbs, "list") {
				kinds[gv.WithKind(r.Kind)] = gv.WithResource(r.Name)
			}
		}
	}
	return kinds
}

// TestAnswersAreBuiltOnce patches a Pod while it is watched, as a player does: the event is the
// answer once more.
func TestAnswersAreBuiltOnce(t *testing.T) {
	cluster := newCluster(t).Share()
	create(t, newCluster(t), "{apiVersion: v1, kind: Namespace, metadata: {name: once}}")
	create(t, newCluster(t), "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: once, labels: {a: b, c: d}}, spec: {containers: [{name: a, image: a}]}}")
	changes, err := cluster.Watch(t.Context(), podKind, "once", metav1.ListOptions{})
	require.NoError(t, err)
	defer changes.Stop()
	require.EqualValues(t, "ADDED", (<-changes.ResultChan()).Type)
	answer, err := cluster.Patch(t.Context(), podKind, types.NamespacedName{Namespace: "once", Name: "a"}, types.StrategicMergePatchType,
		[]byte(`{"status": {"phase": "Running"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	event := (<-changes.ResultChan()).Object.(*unstructured.Unstructured)
	require.Equal(t, answer, event)
	require.Equal(t, reflect.ValueOf(answer.Object).Pointer(), reflect.ValueOf(event.Object).Pointer())
}
