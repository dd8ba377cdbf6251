package player_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// overtaken is a cluster in which another client writes just before the first patch arrives.
type overtaken struct {
	*memory.Cluster
	once sync.Once
}

func (o *overtaken) Share() transport.Transport { return struct{ transport.Transport }{o} }

func (o *overtaken) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, po metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	var err error
	o.once.Do(func() {
		_, err = o.Cluster.Patch(ctx, k, n, types.MergePatchType, []byte(`{"status":{"starts":10,"conditions":[{"type":"Mine","status":"True"}]}}`), po, "status")
	})
	if err != nil {
		return nil, err
	}
	return o.Cluster.Patch(ctx, k, n, t, data, po, sub...)
}

// TestExtensionsLoseNothingToOthers: a number and a condition that somebody else wrote meanwhile are
// counted on, and kept.
func TestExtensionsLoseNothingToOthers(t *testing.T) {
	text := `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: run
  annotations:
    stagecraft-go.github.io/patches: |
      - increment: .status.starts
      - condition: Ready
        template: 'status: "True"'
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: '.status.conditions[]?.type', operator: NotIn, values: [Ready]}]}
  delay: {durationMilliseconds: 1000}
`
	set, err := stage.Compile(stage.Options{Extensions: true}, stage.Parse("stages.yaml", []byte(text)))
	require.NoError(t, err)
	wrap := func(c transport.Transport) transport.Transport { return &overtaken{Cluster: c.(*memory.Cluster)} }
	playing(t, set, player.Options{}, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		obj, err := c.Get(ctx, podKind, webName)
		require.NoError(t, err)
		status := obj.Object["status"].(map[string]any)
		require.Equal(t, int64(11), status["starts"])
		require.Len(t, status["conditions"], 2)
	})
}
