package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"k8s.io/client-go/discovery"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// timeout is how long the control plane may take for anything. The machine can be busy, with
// several control planes for the tests of faults.
const timeout = 3 * time.Minute

// eventually waits until f returns true after actions of other processes.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, timeout, 20*time.Millisecond, what)
}

// decode reads the objects of a manifest, integers as int64.
func decode(t testing.TB, manifest string) (objs []*unstructured.Unstructured) {
	t.Helper()
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := documents.Decode(u)
		if errors.Is(err, io.EOF) {
			return objs
		}
		require.NoError(t, err)
		if len(u.Object) > 0 {
			objs = append(objs, u)
		}
	}
}

// condition returns the status of a condition, or "".
func condition(obj *unstructured.Unstructured, typ string) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, v := range list {
		if c, ok := v.(map[string]any); ok && c["type"] == typ {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// served reports whether the server serves the kind of a CustomResourceDefinition.
func served(t testing.TB, cluster *kube.Cluster, crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	version, _, _ := unstructured.NestedString(versions[0].(map[string]any), "name")
	_, err := cluster.List(t.Context(), schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, "", metav1.ListOptions{})
	return err == nil
}

var nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// serverVersion is the version of kube-apiserver.
func serverVersion(t testing.TB) string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	require.NoError(t, err)
	version, err := client.ServerVersion()
	require.NoError(t, err)
	return version.GitVersion
}
