package controllers_test

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
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// boundOnly shows a Player no Pods that have no node.
type boundOnly struct{ transport.Transport }

func bound(kind schema.GroupVersionKind, o metav1.ListOptions) metav1.ListOptions {
	if kind.Kind == "Pod" {
		o.FieldSelector = "spec.nodeName!="
	}
	return o
}

func (b boundOnly) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return b.Transport.List(ctx, kind, namespace, bound(kind, o))
}

func (b boundOnly) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return b.Transport.Watch(ctx, kind, namespace, bound(kind, o))
}

func TestInRealTimeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_ = player.Play(ctx, stage.MustCompile(presets.PodGeneral(), presets.NodeFast()), boundOnly{cluster}, player.Options{})
		})
		var fails []string
		all.Go(func() {
			o := reconcile.PlayOptions{}
			o.Trace = func(e reconcile.TraceEvent) {
				if e.Err != nil {
					fails = append(fails, e.String())
				}
			}
			_ = reconcile.Play(ctx, cluster, o, controllers.All(controllers.Options{})...)
		})
		require.NoError(t, cluster.Load(ctx, []byte(`{apiVersion: v1, kind: Node, metadata: {name: node-000},
  status: {allocatable: {cpu: "32", memory: 128Gi, pods: "200"}}}`)))
		require.NoError(t, cluster.Load(ctx, []byte(clustertest.Bundle())))
		time.Sleep(12 * time.Minute)
		for _, of := range []struct{ kind, name string }{
			{"StatefulSet", "db"}, {"Deployment", "web"}, {"DaemonSet", "agent"}, {"Job", "sums"}, {"CronJob", "nightly"}, {"Service", "web"},
		} {
			obj, err := cluster.Get(ctx, clustertest.Kind(of.kind), types.NamespacedName{Namespace: "default", Name: of.name})
			require.NoError(t, err)
			require.Equal(t, kstatus.Current, kstatus.Extended().Compute(obj, time.Now()).Status, "%s: %v", of, obj.Object["status"])
		}
		cancel()
		all.Wait()
		t.Log(fails) // conflicts with the Player, which were tried again
	})
}

func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	for name, timing := range map[string]*simulation.Timing{"at once": nil, "slow": simulation.ClusterLike()} {
		t.Run(name, func(t *testing.T) { sameSeedSameStory(t, timing) })
	}
}

func sameSeedSameStory(t *testing.T, timing *simulation.Timing) {
	tell := func(seed uint64) (story []string) {
		c := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: presets.PodGeneral, Seed: seed, Timing: timing, Trace: func(line string) { story = append(story, line) }})
		c.Load(clustertest.Bundle())
		c.Advance(15 * time.Minute)
		c.Patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		c.Advance(15 * time.Minute)
		return story
	}
	first := tell(1)
	require.Greater(t, len(first), 100)
	require.Equal(t, first, tell(1))
	require.NotEqual(t, first, tell(2))
}
