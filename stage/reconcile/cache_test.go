package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A selected is a cache whose ConfigMaps select Pods by the selector in their spec.
type selected struct {
	loop    *reconcile.Loop
	index   *reconcile.SelectorIndex
	present map[string]*unstructured.Unstructured // by kind and key
	version int
}

func newSelected() *selected {
	nothing := func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }
	return &selected{
		loop: reconcile.NewLoop(nil, reconcile.Options{}, reconcile.Controller{
			Name: "c", For: pods, Watches: []reconcile.Watch{{Kind: configMaps}}, Reconcile: nothing,
		}),
		index:   &reconcile.SelectorIndex{Kind: configMaps, Selector: selectorOf},
		present: map[string]*unstructured.Unstructured{},
	}
}

func selectorOf(obj *unstructured.Unstructured) labels.Selector {
	text, found, _ := unstructured.NestedString(obj.Object, "spec", "selector")
	if !found {
		return nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return selector
}

// selectors are the selectors of the test. The last selects nothing.
var selectors = []string{"", "a=x", "a=x,b=y", "a in (x,y)", "!a", "a!=x", "b=y,a", "a in (x)", "c=x,a notin (y)", "a=x,a=y"}

// change adds, changes or removes a random object.
func (s *selected) change(r *rand.Rand) {
	s.version++
	kind := pods
	if r.IntN(2) == 0 {
		kind = configMaps
	}
	obj := named(kind, fmt.Sprint("n", r.IntN(2)), fmt.Sprint("o", r.IntN(12)), fmt.Sprint(s.version))
	key := kind.Kind + "/" + obj.GetNamespace() + "/" + obj.GetName()
	obj.SetUID(types.UID(key))
	if old := s.present[key]; old != nil && r.IntN(4) == 0 {
		delete(s.present, key)
		s.loop.Observe(deleted(old), start)
		return
	}
	set := map[string]string{}
	for _, label := range []string{"a", "b", "c"} {
		if r.IntN(2) == 0 {
			set[label] = []string{"x", "y"}[r.IntN(2)]
		}
	}
	obj.SetLabels(set)
	if i := r.IntN(len(selectors) + 1); kind == configMaps && i < len(selectors) {
		obj.Object["spec"] = map[string]any{"selector": selectors[i]}
	}
	s.present[key] = obj
	s.loop.Observe(added(obj), start)
}

// filter returns the present objects for which a function is true, by namespace and name.
func (s *selected) filter(keep func(*unstructured.Unstructured) bool) (found []*unstructured.Unstructured) {
	for _, key := range slices.Sorted(maps.Keys(s.present)) {
		if keep(s.present[key]) {
			found = append(found, s.present[key])
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return slices.Compare([]string{a.GetNamespace(), a.GetName()}, []string{b.GetNamespace(), b.GetName()})
	})
	return found
}

// TestSelectionsAreThoseOfAScan compares what the cache finds by labels with a look at all objects.
func TestSelectionsAreThoseOfAScan(t *testing.T) {
	for seed := range uint64(20) {
		r, s := rand.New(rand.NewPCG(seed, 1)), newSelected()
		for range 100 {
			s.change(r)
			if r.IntN(3) > 0 { // several changes between two looks
				continue
			}
			for _, namespace := range []string{"", "n0", "n1"} {
				s.requireSelect(t, namespace, selectors[r.IntN(len(selectors))])
			}
			s.requireSelecting(t)
		}
	}
}

func (s *selected) requireSelect(t *testing.T, namespace, text string) {
	selector, err := labels.Parse(text)
	require.NoError(t, err)
	want := s.filter(func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() == "Pod" && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels()))
	})
	require.Equal(t, want, s.loop.Cache().Select(pods, namespace, selector), "%q in %q", text, namespace)
}

func (s *selected) requireSelecting(t *testing.T) {
	for _, pod := range s.filter(func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Pod" }) {
		want := s.filter(func(obj *unstructured.Unstructured) bool {
			selector := selectorOf(obj)
			return obj.GetKind() == "ConfigMap" && obj.GetNamespace() == pod.GetNamespace() && selector != nil && selector.Matches(labels.Set(pod.GetLabels()))
		})
		require.Equal(t, want, s.loop.Cache().Selecting(s.index, pod), "%v", pod.GetLabels())
	}
}

// TestListsDoNotChange keeps a list while objects come and go.
func TestListsDoNotChange(t *testing.T) {
	r, s := rand.New(rand.NewPCG(1, 1)), newSelected()
	for range 50 {
		s.change(r)
		list := s.loop.Cache().List(pods, "n0")
		before := slices.Clone(list)
		for range 10 {
			s.change(r)
		}
		require.Equal(t, before, list)
		require.Equal(t, s.filter(func(obj *unstructured.Unstructured) bool {
			return obj.GetKind() == "Pod" && obj.GetNamespace() == "n0"
		}), slices.Clip(append([]*unstructured.Unstructured(nil), s.loop.Cache().List(pods, "n0")...)))
	}
}
