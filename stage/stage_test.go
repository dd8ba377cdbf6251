package stage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/fixture"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// start is the time at which all tests begin.
var start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

var (
	object    = fixture.Object
	stageYAML = fixture.Stage
	phased    = fixture.StageIn
	compile   = fixture.Compile
)

// pod is a running Pod with annotations and status as given in flow style.
func pod(t testing.TB, annotations, status string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default, uid: u1,
  annotations: `+annotations+"}, spec: {replicas: 3}, status: "+status+"}")
}

// names lists the candidates of obj.
func names(set *stage.Set, obj *unstructured.Unstructured) []string {
	got := []string{}
	for _, c := range set.Candidates(obj, start) {
		got = append(got, c.Stage)
	}
	return got
}

// effects prints the effects of the first candidate.
func effects(t testing.TB, set *stage.Set, obj *unstructured.Unstructured) []string {
	t.Helper()
	candidates := set.Candidates(obj, start)
	require.NotEmpty(t, candidates)
	list, err := candidates[0].Transition(0).Effects(obj, start)
	require.NoError(t, err)
	got := []string{}
	for _, e := range list {
		got = append(got, e.String())
	}
	return got
}

// newPod is a Pod on a node, without a status.
func newPod(name, annotation string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "default", "annotations": map[string]any{"a": annotation}},
		"spec":     map[string]any{"nodeName": "node", "containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}}
}

func create(t testing.TB, c *memory.Cluster, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj, err := c.Create(context.Background(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return obj
}
