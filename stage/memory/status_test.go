package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// statusWriter is the interface of package reconcile.
type statusWriter interface {
	ReplaceStatus(ctx context.Context, obj *unstructured.Unstructured, status map[string]any, o metav1.PatchOptions) (*unstructured.Unstructured, error)
}

// TestReplaceStatusIsAPatch checks that a status written as values has the same result, trace and
// error as the same patch.
func TestReplaceStatusIsAPatch(t *testing.T) {
	status := map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	var traces [2][]memory.Request
	var left [2]map[string]any
	for i := range left {
		c := memory.New(memory.Options{Now: func() time.Time { return time.Unix(0, 0) }, Trace: func(r memory.Request) { traces[i] = append(traces[i], r) }})
		c.TrackFields()
		pod := parsed(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u}, spec: {containers: [{name: c, image: i}]}}`)
		created, err := c.Create(t.Context(), pod, metav1.CreateOptions{FieldManager: "me"})
		require.NoError(t, err)
		write := func() error {
			_, err := c.Patch(t.Context(), pods, at("p"), types.JSONPatchType,
				[]byte(`[{"op": "add", "path": "/status", "value": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
				  {"op": "replace", "path": "/metadata/resourceVersion", "value": "`+created.GetResourceVersion()+`"}]`),
				metav1.PatchOptions{FieldManager: "kubelet"}, "status")
			return err
		}
		if i == 1 {
			write = func() error {
				_, err := c.Share().(statusWriter).ReplaceStatus(t.Context(), created, status, metav1.PatchOptions{FieldManager: "kubelet"})
				return err
			}
		}
		require.NoError(t, write())
		require.True(t, apierrors.IsConflict(write()), "it has another version")
		got, err := c.Get(t.Context(), pods, at("p"))
		require.NoError(t, err)
		for _, field := range []string{"uid", "creationTimestamp"} {
			delete(got.Object["metadata"].(map[string]any), field)
		}
		for _, e := range got.Object["metadata"].(map[string]any)["managedFields"].([]any) {
			delete(e.(map[string]any), "time")
		}
		left[i] = got.Object
	}
	require.Equal(t, left[0], left[1])
	require.Len(t, traces[1], 3)
	require.Equal(t, traces[0], traces[1])
}
