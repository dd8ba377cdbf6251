package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	pods       = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	start      = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func named(kind schema.GroupVersionKind, namespace, name, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(kind.Kind + "/" + name))
	obj.SetResourceVersion(version)
	return obj
}

func owned(obj, owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	return obj
}

func added(obj *unstructured.Unstructured) watch.Event {
	return watch.Event{Type: watch.Added, Object: obj}
}

func deleted(obj *unstructured.Unstructured) watch.Event {
	return watch.Event{Type: watch.Deleted, Object: obj}
}

// recorder is a controller that records its calls.
type recorder struct {
	lines  []string
	answer func(reconcile.Request) (reconcile.Result, error)
}

func (c *recorder) reconcile(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
	c.lines = append(c.lines, fmt.Sprintf("%s +%s", r.Name.Name, r.Now.Sub(start)))
	if c.answer == nil {
		return reconcile.Result{}, nil
	}
	return c.answer(r)
}

// drain runs a loop until nothing is due before the end.
func drain(t *testing.T, l *reconcile.Loop, end time.Duration) {
	t.Helper()
	for at, ok := l.NextDue(); ok && !at.After(start.Add(end)); at, ok = l.NextDue() {
		require.True(t, l.Step(t.Context(), at))
	}
}

func TestKeysAreTakenInOrderAndOnce(t *testing.T) {
	var c recorder
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{}, reconcile.Controller{
		Name: "c", For: configMaps, Watches: []reconcile.Watch{{Kind: pods}}, Reconcile: c.reconcile,
	})
	require.Equal(t, []schema.GroupVersionKind{configMaps, pods}, l.Kinds())
	b := named(configMaps, "x", "b", "1")
	l.Observe(added(b), start)
	l.Observe(added(named(configMaps, "x", "a", "2")), start)
	l.Observe(added(owned(named(pods, "x", "p", "3"), b)), start)
	l.Observe(added(named(pods, "x", "stray", "4")), start)
	drain(t, l, 0)
	require.Equal(t, []string{"b +0s", "a +0s"}, c.lines)

	c.lines = nil
	l.Observe(deleted(owned(named(pods, "x", "p", "5"), b)), start.Add(time.Second))
	require.False(t, l.Step(t.Context(), start), "not before its time")
	drain(t, l, time.Second)
	require.Equal(t, []string{"b +1s"}, c.lines)
}

func TestOldNewsAreNoNews(t *testing.T) {
	var c recorder
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{}, reconcile.Controller{For: pods, Reconcile: c.reconcile})
	l.Observe(added(named(pods, "x", "p", "10")), start)
	drain(t, l, 0)
	l.Observe(added(named(pods, "x", "p", "10")), start)
	l.Observe(added(named(pods, "x", "p", "9")), start)
	l.Observe(watch.Event{Type: watch.Bookmark, Object: named(pods, "", "", "11")}, start)
	l.Observe(watch.Event{Type: watch.Error, Object: &metav1.Status{}}, start)
	l.Observe(deleted(named(pods, "x", "q", "12")), start)
	_, due := l.NextDue()
	require.False(t, due)
	require.Equal(t, "10", l.Cache().Get(pods, types.NamespacedName{Namespace: "x", Name: "p"}).GetResourceVersion())
}

func TestErrorsAreTriedAgainLaterAndLater(t *testing.T) {
	oops := errors.New("oops")
	c := recorder{answer: func(r reconcile.Request) (reconcile.Result, error) {
		if r.Now.Before(start.Add(60 * time.Millisecond)) {
			return reconcile.Result{}, oops
		}
		return reconcile.Result{After: time.Second}, nil
	}}
	var failed []error
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{
		MaxRetryAfter: 30 * time.Millisecond,
		Trace:         func(e reconcile.TraceEvent) { failed = append(failed, e.Err) },
	}, reconcile.Controller{Name: "c", For: pods, Reconcile: c.reconcile})
	l.Observe(added(named(pods, "x", "p", "1")), start)
	drain(t, l, 2*time.Second)
	require.Equal(t, []string{"p +0s", "p +5ms", "p +15ms", "p +35ms", "p +65ms", "p +1.065s"}, c.lines)
	require.Equal(t, []error{oops, oops, oops, oops, nil, nil}, failed)
}

func TestAControllerMayHaveItsOwnPauses(t *testing.T) {
	c := recorder{answer: func(reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, errors.New("oops") }}
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{}, reconcile.Controller{
		Name: "c", For: pods, Reconcile: c.reconcile, RetryAfter: time.Second, MaxRetryAfter: 3 * time.Second,
	})
	l.Observe(added(named(pods, "x", "p", "1")), start)
	drain(t, l, 10*time.Second)
	require.Equal(t, []string{"p +0s", "p +1s", "p +3s", "p +6s", "p +9s"}, c.lines)
}

func TestAKeyWithAnErrorIsLookedAtWhenItAskedFor(t *testing.T) {
	c := recorder{answer: func(r reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{After: start.Add(5 * time.Second).Sub(r.Now)}, errors.New("oops")
	}}
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{RetryAfter: 2 * time.Second}, reconcile.Controller{For: pods, Reconcile: c.reconcile})
	l.Observe(added(named(pods, "x", "p", "1")), start)
	drain(t, l, 10*time.Second)
	require.Equal(t, []string{"p +0s", "p +2s", "p +5s"}, c.lines)
}

func TestFinalErrorsAreNotTriedAgain(t *testing.T) {
	oops := errors.New("oops")
	c := recorder{answer: func(reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, fmt.Errorf("no: %w", reconcile.Final(oops))
	}}
	var last reconcile.TraceEvent
	o := reconcile.Options{Trace: func(e reconcile.TraceEvent) { last = e }}
	l := reconcile.NewLoop(memory.New(memory.Options{}), o, reconcile.Controller{Name: "c", For: pods, Reconcile: c.reconcile})
	l.Observe(added(named(pods, "x", "p", "1")), start)
	drain(t, l, time.Hour)
	require.Equal(t, []string{"p +0s"}, c.lines)
	require.ErrorIs(t, last.Err, oops)
	require.Equal(t, "c x/p: no: oops", last.String())
	l.Observe(added(named(pods, "x", "p", "2")), start.Add(time.Second))
	drain(t, l, time.Hour)
	require.Equal(t, []string{"p +0s", "p +1s"}, c.lines)
	require.NoError(t, reconcile.Final(nil))
}

func TestKeysRest(t *testing.T) {
	var c recorder
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{MinInterval: time.Second}, reconcile.Controller{For: pods, Reconcile: c.reconcile})
	for i, at := range []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond, 5 * time.Second} {
		drain(t, l, at)
		l.Observe(added(named(pods, "x", "p", fmt.Sprint(i+1))), start.Add(at))
	}
	drain(t, l, time.Minute)
	require.Equal(t, []string{"p +0s", "p +1s", "p +5s"}, c.lines)
}

func TestALivelockIsParkedUntilTimePasses(t *testing.T) {
	cluster := memory.New(memory.Options{})
	var last reconcile.TraceEvent
	n := 0
	l := reconcile.NewLoop(cluster, reconcile.Options{MaxReconciles: 5, Trace: func(e reconcile.TraceEvent) { last = e }}, reconcile.Controller{
		Name: "restless", For: configMaps,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			n++
			patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)
			_, err := r.Client.Patch(ctx, configMaps, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			return reconcile.Result{}, err
		},
	})
	obj, err := cluster.Create(t.Context(), named(configMaps, "x", "c", ""), metav1.CreateOptions{})
	require.NoError(t, err)
	l.Observe(added(obj), start)
	drain(t, l, 0)
	require.Equal(t, 5, n)
	require.ErrorIs(t, last.Err, reconcile.ErrLivelock)
	require.Equal(t, "restless x/c: reconciled again and again without time passing: parked", last.String())

	touched, err := cluster.Patch(t.Context(), configMaps, types.NamespacedName{Namespace: "x", Name: "c"}, types.MergePatchType, []byte(`{"data":{"n":"0"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	l.Observe(added(touched), start.Add(time.Second))
	drain(t, l, time.Second)
	require.Equal(t, 10, n)
}

func TestWritesAreInTheCacheAtOnce(t *testing.T) {
	ctx, cluster := t.Context(), memory.New(memory.Options{})
	name := types.NamespacedName{Namespace: "x", Name: "p"}
	step := 0
	l := reconcile.NewLoop(cluster, reconcile.Options{}, reconcile.Controller{
		Name: "c", For: pods,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			step++
			switch step {
			case 1:
				_, err := r.Client.Create(ctx, named(pods, "x", "p", ""), metav1.CreateOptions{})
				require.NoError(t, err)
				require.NotNil(t, r.Cache.Get(pods, name))
				_, err = r.Client.Patch(ctx, pods, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
				require.NoError(t, err)
				require.Equal(t, "b", r.Cache.Get(pods, name).GetLabels()["a"])
			case 2:
				require.NoError(t, r.Client.Delete(ctx, pods, name, metav1.DeleteOptions{}))
				require.Nil(t, r.Cache.Get(pods, name))
			}
			return reconcile.Result{}, nil
		},
	})
	changes, err := cluster.Feed(pods, "", metav1.ListOptions{})
	require.NoError(t, err)
	l.Observe(added(named(pods, "x", "q", "0")), start)
	drain(t, l, 0)
	require.Equal(t, 3, step, "the creation and the deletion were seen")
	for e, ok := changes.Next(); ok; e, ok = changes.Next() {
		l.Observe(e, start)
		require.Nil(t, l.Cache().Get(pods, name), "the watch brings nothing back")
	}
	again, err := cluster.Create(ctx, named(pods, "x", "p", ""), metav1.CreateOptions{})
	require.NoError(t, err)
	l.Observe(added(again), start)
	require.NotNil(t, l.Cache().Get(pods, name))
}

func TestTheCacheFindsWhatIsAskedFor(t *testing.T) {
	byNode := &reconcile.Index{Kind: pods, Value: func(obj *unstructured.Unstructured) string {
		node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
		return node
	}}
	l := reconcile.NewLoop(memory.New(memory.Options{}), reconcile.Options{}, reconcile.Controller{For: pods, Indexes: []*reconcile.Index{byNode}})
	owner := named(configMaps, "x", "o", "1")
	on := func(obj *unstructured.Unstructured, node, version string) *unstructured.Unstructured {
		obj.SetResourceVersion(version)
		obj.SetLabels(map[string]string{"node": node})
		require.NoError(t, unstructured.SetNestedField(obj.Object, node, "spec", "nodeName"))
		return obj
	}
	l.Observe(added(on(owned(named(pods, "y", "c", ""), owner), "n1", "2")), start)
	l.Observe(added(on(named(pods, "x", "b", ""), "n1", "3")), start)
	l.Observe(added(on(owned(named(pods, "x", "a", ""), owner), "n2", "4")), start)
	c := l.Cache()
	require.Equal(t, []string{"a", "b", "c"}, names(c.List(pods, "")))
	require.Equal(t, []string{"a", "b"}, names(c.List(pods, "x")))
	require.Equal(t, []string{"a", "c"}, names(c.Owned(pods, owner.GetUID())))
	require.Equal(t, []string{"b"}, names(c.Owned(pods, "")))
	require.Equal(t, []string{"b", "c"}, names(c.By(byNode, "n1")))
	require.Equal(t, []string{"a"}, names(c.Select(pods, "", labels.SelectorFromSet(labels.Set{"node": "n2"}))))

	before := c.By(byNode, "n1")
	l.Observe(added(on(named(pods, "x", "b", ""), "n2", "5")), start)
	require.Equal(t, []string{"b", "c"}, names(before), "what was returned stays")
	require.Equal(t, []string{"c"}, names(c.By(byNode, "n1")))
	require.Equal(t, []string{"a", "b"}, names(c.By(byNode, "n2")))
	l.Observe(deleted(named(pods, "x", "a", "6")), start)
	require.Equal(t, []string{"b", "c"}, names(c.List(pods, "")))
	require.Empty(t, c.By(&reconcile.Index{Kind: pods}, "n1"), "an index that no controller lists")
	require.Empty(t, c.List(configMaps, ""))
}

func names(objs []*unstructured.Unstructured) (names []string) {
	for _, obj := range objs {
		names = append(names, obj.GetName())
	}
	return names
}

func TestAChangeSaysWhoseItIs(t *testing.T) {
	var by []string
	cluster := memory.New(memory.Options{})
	seen := func(ch reconcile.Change) bool {
		by = append(by, ch.By)
		return false
	}
	l := reconcile.NewLoop(cluster, reconcile.Options{},
		reconcile.Controller{Name: "reader", For: pods, When: seen},
		reconcile.Controller{Name: "writer", For: configMaps, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			_, err := r.Client.Create(ctx, named(pods, "x", "p", ""), metav1.CreateOptions{})
			return reconcile.Result{}, err
		}},
	)
	l.Observe(added(named(configMaps, "x", "c", "1")), start)
	drain(t, l, 0)
	l.Observe(deleted(l.Cache().Get(pods, types.NamespacedName{Namespace: "x", Name: "p"})), start)
	require.Equal(t, []string{"writer", ""}, by)
}
