package ctrlruntime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	stagereconcile "github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	mapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// labWith is a lab with a reconciler that writes down its requests, and the requests.
func labWith(t *testing.T, o ctrlruntime.ControllerOptions, do func()) (*labtest.Lab, *[]string) {
	var asked []string
	r := reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		asked = append(asked, r.Name)
		do()
		return reconcile.Result{}, nil
	})
	lab := labtest.New(t, labtest.Options{Nodes: -1, Controllers: []stagereconcile.Controller{ctrlruntime.ControllerWith(r, o)}})
	return lab, &asked
}

func TestPredicates(t *testing.T) {
	wanted := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.(*corev1.ConfigMap).Data["a"] == "b" })
	changed := predicate.ResourceVersionChangedPredicate{}
	lab, asked := labWith(t, ctrlruntime.ControllerOptions{For: mapKind, Scheme: scheme.Scheme,
		Predicates: []predicate.Predicate{wanted}, EventFilters: []predicate.Predicate{changed}}, func() {})
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}")
	lab.Settle()
	require.Equal(t, []string{"web"}, *asked)
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: b}}")
	lab.Settle()
	require.Equal(t, []string{"web", "other"}, *asked)
}

func TestMappedWatches(t *testing.T) {
	toPod := func(_ context.Context, obj client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.(*corev1.ConfigMap).Data["for"]}}}
	}
	named := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() != "ignored" })
	lab, asked := labWith(t, ctrlruntime.ControllerOptions{Name: "pods", For: podKind, Scheme: scheme.Scheme,
		Watches: []ctrlruntime.Watch{{Kind: mapKind, Map: toPod, Predicates: []predicate.Predicate{named}}}}, func() {})
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {for: web}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: ignored}, data: {for: db}}")
	lab.Settle()
	require.Equal(t, []string{"web"}, *asked)
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {for: db}}")
	lab.Settle()
	require.ElementsMatch(t, []string{"web", "web", "db"}, *asked, "both, the one that it was for and the one that it is for")
}

func TestPanicsAreErrorsThatAreTriedAgain(t *testing.T) {
	left := 3
	lab, asked := labWith(t, ctrlruntime.ControllerOptions{For: mapKind}, func() {
		if left--; left >= 0 {
			panic("out of luck")
		}
	})
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
	lab.Settle()
	require.Len(t, *asked, 4)
}

// TestAForgottenClientIsNamed: the failure of a lab says which object, and that the reconciler panicked.
func TestAForgottenClientIsNamed(t *testing.T) {
	failed := &failing{T: t}
	func() {
		defer func() { _ = recover() }()
		lab := labtest.New(failed, labtest.Options{Controllers: []stagereconcile.Controller{ctrlruntime.Controller(&forgotten{}, mapKind)}})
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
		lab.Settle()
	}()
	require.Contains(t, failed.said, `reconciles ConfigMap default/m again, because it failed: panic: runtime error: invalid memory address`)
}

// A forgotten reconciler has got no client.
type forgotten struct{ client.Client }

func (f *forgotten) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, f.Get(ctx, r.NamespacedName, &corev1.ConfigMap{})
}

// A failing test notes why it fails, and panics.
type failing struct {
	*testing.T
	said string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f.said)
}
