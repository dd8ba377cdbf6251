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
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
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
	lab := labtest.New(t, labtest.Options{Nodes: -1, OnlyControllers: true, Controllers: []stagereconcile.Controller{ctrlruntime.ControllerWith(r, o)}})
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

// TestAForgottenClientIsNamed checks that a lab and a hunt refuse a reconciler without its client before
// anything happens.
func TestAForgottenClientIsNamed(t *testing.T) {
	var none *forgotten
	for want, r := range map[string]reconcile.Reconciler{
		`controller "ConfigMap": ctrlruntime_test.forgotten has no client (nil: Client); give the reconciler its client when you create it`: &forgotten{},
		`ctrlruntime_test.plainly has no client (nil: Kube, remote); give`:                                                                  &plainly{},
		`ctrlruntime_test.embeds has no client (nil: Client); give`:                                                                         &embeds{forgotten: &forgotten{}},
		`controller "ConfigMap": the reconciler is nil`:                                                                                     none,
	} {
		controllers := []stagereconcile.Controller{ctrlruntime.Controller(r, mapKind)}
		failed := &failing{T: t}
		func() {
			defer func() { _ = recover() }()
			labtest.New(failed, labtest.Options{Controllers: controllers})
		}()
		require.Contains(t, failed.said, want)
		_, err := hunt.Play(hunt.Options{}, func(r *hunt.Run) {
			r.Process("operator", func(*hunt.Process) []stagereconcile.Controller { return controllers })
		}, hunt.Plan{})
		require.ErrorContains(t, err, want)
		err = stagereconcile.Play(t.Context(), memory.New(memory.Options{}), stagereconcile.PlayOptions{}, controllers...)
		require.ErrorContains(t, err, want)
	}
}

// TestAReconcilerWithAClientRuns has reconcilers to which the check must not object.
func TestAReconcilerWithAClientRuns(t *testing.T) {
	for _, make := range []func(client.Client) reconcile.Reconciler{
		func(c client.Client) reconcile.Reconciler { return &forgotten{c} },
		func(c client.Client) reconcile.Reconciler { return &plainly{Kube: c} },
		func(c client.Client) reconcile.Reconciler { return &embeds{forgotten: &forgotten{c}} },
		func(client.Client) reconcile.Reconciler {
			return reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
		},
	} {
		lab := labtest.New(t, labtest.Options{Nodes: -1, Operator: func(c *memory.Cluster) []stagereconcile.Controller {
			return []stagereconcile.Controller{ctrlruntime.Controller(make(ctrlruntime.New(c, ctrlruntime.Options{})), mapKind)}
		}})
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
		lab.Settle()
	}
}

// A plainly has its client in a field with a name; the client of another cluster is optional.
type plainly struct {
	Kube, remote client.Client
}

func (n *plainly) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, n.Kube.Get(ctx, r.NamespacedName, &corev1.ConfigMap{})
}

// embeds has its client in another reconciler, which it embeds.
type embeds struct{ *forgotten }

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
