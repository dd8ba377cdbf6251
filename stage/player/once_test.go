package player_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// resending is a cluster behind a proxy: do does a patch for the nth time.
type resending struct {
	*memory.Cluster
	n  atomic.Int32
	do func(n int32, patch func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error)
}

func (r *resending) Share() transport.Transport { return r }

func (r *resending) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	return r.do(r.n.Add(1), func() (*unstructured.Unstructured, error) {
		return r.Cluster.Patch(context.WithoutCancel(ctx), k, n, t, data, o, sub...)
	})
}

// TestAWriteIsDoneOnce: an append is done once, although a proxy sends it twice, or a write whose answer was lost arrives after a conflict
// that there was not. The other effects of the transition follow.
func TestAWriteIsDoneOnce(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("there is none"))
	set := compile(t, phased("go", "Pending", `  steps:
  - patch: {root: metadata, template: 'annotations: {log: "{{ or (index (or .metadata.annotations dict) "log") "" }}x", at: "{{ Now }}"}'}
  - event: {type: Normal, reason: R, message: m}
  - patch: {subresource: status, root: status, template: 'phase: Running'}`))
	for name, do := range map[string]func(int32, func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error){
		"twice": func(_ int32, patch func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
			_, _ = patch()
			return patch()
		},
		"late": func(n int32, patch func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
			switch n {
			case 1:
				time.AfterFunc(300*time.Millisecond, func() { _, _ = patch() })
				return nil, io.EOF
			case 2:
				return nil, conflict
			case 3:
				time.Sleep(time.Second)
			}
			return patch()
		},
	} {
		t.Run(name, func(t *testing.T) {
			wrap := func(t transport.Transport) transport.Transport {
				return &resending{Cluster: t.(*memory.Cluster), do: do}
			}
			playing(t, set, player.Options{}, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
				create(t, c, newPod("web", ""))
				after(time.Minute)
				obj, err := c.Get(ctx, podKind, webName)
				require.NoError(t, err)
				require.Equal(t, "x", obj.GetAnnotations()["log"])
				require.Equal(t, "Running", phase(t, c, webName))
				events, err := c.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "", metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, events.Items, 1)
			})
		})
	}
}

// TestAReleaseWhoseAnswerIsLost: the patch that removes the last finalizer is done, its answer lost, and so the object is gone. That is no
// failure, and the Event that follows is sent.
func TestAReleaseWhoseAnswerIsLost(t *testing.T) {
	set := compile(t, `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: release}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}
  steps:
  - finalizers: {empty: true}
  - event: {type: Normal, reason: Released, message: m}
`)
	lost := func(_ int32, patch func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
		if _, err := patch(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var failed []stage.TraceEvent
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			failed = append(failed, e)
		}
	}}
	wrap := func(t transport.Transport) transport.Transport {
		return &resending{Cluster: t.(*memory.Cluster), do: lost}
	}
	playing(t, set, o, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		pod := newPod("web", "")
		pod.SetFinalizers([]string{"example.com/held"})
		create(t, c, pod)
		require.NoError(t, c.Delete(ctx, podKind, webName, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		after(time.Minute)
		events, err := c.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		require.Empty(t, failed)
	})
}
