package player_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// watching is a cluster that counts the watches that are open.
type watching struct {
	*memory.Cluster
	open map[string]*atomic.Int32
}

func (w watching) Share() transport.Transport { return w }

func (w watching) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	real, err := w.Cluster.Watch(ctx, k, ns, o)
	if err == nil {
		w.open[k.Kind].Add(1)
		context.AfterFunc(ctx, func() { w.open[k.Kind].Add(-1) })
	}
	return real, err
}

func TestKindsComeAndGo(t *testing.T) {
	open := map[string]*atomic.Int32{"Pod": {}, "Node": {}, "ConfigMap": {}}
	wrap := func(t transport.Transport) transport.Transport { return watching{t.(*memory.Cluster), open} }
	pods := delayed("run", "Pending", "Running", 1000)
	maps := strings.Replace(stageYAML("mark", "  selector: {matchLabels: {new: 'yes'}}\n  next: {patches: [{root: metadata, template: 'labels: {new: null}'}]}"), "{kind: Pod}", "{kind: ConfigMap}", 1)
	var forgotten atomic.Int32
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceForgotten {
			forgotten.Add(1)
		}
	}}
	directing(t, compile(t, pods), o, wrap, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		counts := func() [3]int32 { return [3]int32{open["Pod"].Load(), open["Node"].Load(), open["ConfigMap"].Load()} }
		require.Equal(t, [3]int32{1, 1, 0}, counts())
		configMap := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default, labels: {new: 'yes'}}}")
		create(t, c, newPod("web", ""))
		create(t, c, configMap)
		synctest.Wait()
		require.Equal(t, player.Stats{Objects: 1, Pending: 1}, p.Stats())

		p.Use(compile(t, maps))
		after(10 * time.Second)
		require.Equal(t, [3]int32{0, 0, 1}, counts())
		require.Equal(t, "Pending", phase(t, c, webName), "what was pending is forgotten")
		require.EqualValues(t, 1, forgotten.Load())
		marked, err := c.Get(t.Context(), configMap.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: "m"})
		require.NoError(t, err)
		require.Empty(t, marked.GetLabels(), "objects of a new kind are played")

		p.Use(compile(t, pods, maps))
		after(2 * time.Second)
		require.Equal(t, [3]int32{1, 1, 1}, counts())
		require.Equal(t, "Running", phase(t, c, webName), "a kind that comes back is played")

		p.Use(compile(t))
		synctest.Wait()
		require.Equal(t, [3]int32{}, counts())
		require.Zero(t, p.Stats())
	})
}

// vanishing is a cluster that loses a kind. Its watches do not report the loss; they end each
// minute.
type vanishing struct {
	*memory.Cluster
	vanished *atomic.Bool
}

func (v vanishing) Share() transport.Transport { return v }

func (v vanishing) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if v.vanished.Load() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: "trains"}, "")
	}
	return v.Cluster.List(ctx, k, ns, o)
}

func (v vanishing) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	if v.vanished.Load() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: "trains"}, "")
	}
	real, err := v.Cluster.Watch(ctx, k, ns, o)
	if err == nil {
		time.AfterFunc(time.Minute, real.Stop)
	}
	return real, err
}

// TestKindsComeLateAndVanish: a kind is defined when the player has waited for it for an hour, and
// taken away again while its objects wait.
func TestKindsComeLateAndVanish(t *testing.T) {
	var vanished atomic.Bool
	trains := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Train"}
	definition := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: trains.demo.example.com},
  spec: {group: demo.example.com, scope: Namespaced, names: {plural: trains, kind: Train},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
	train := `{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: t1, namespace: default}}`
	set := compile(t, strings.Replace(stageYAML("go", "  selector: {matchExpressions: [{key: .spec.at, operator: DoesNotExist}]}\n  delay: {durationMilliseconds: 60000}\n  next: {patches: [{root: spec, template: 'at: far'}]}"), "{kind: Pod}", "{apiGroup: demo.example.com/v1, kind: Train}", 1))
	wrap := func(t transport.Transport) transport.Transport { return vanishing{t.(*memory.Cluster), &vanished} }
	failures := 0
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			failures++
		}
	}}
	directing(t, set, o, wrap, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		after(time.Hour)
		require.Equal(t, 1, failures, "that it does not exist is said once")
		create(t, c, object(t, definition))
		create(t, c, object(t, train))
		after(6 * time.Second)
		require.Equal(t, player.Stats{Objects: 1, Pending: 1}, p.Stats())
		after(time.Minute)
		obj, err := c.Get(t.Context(), trains, types.NamespacedName{Namespace: "default", Name: "t1"})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"at": "far"}, obj.Object["spec"])

		vanished.Store(true)
		after(time.Hour)
		require.Zero(t, p.Stats())
		require.LessOrEqual(t, failures, 3, "the watch, and the list once")
	})
}
