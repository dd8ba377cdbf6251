package ctrlruntime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	stagereconcile "github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var widgets = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// A widgetReconciler makes a ConfigMap for each approved Widget, with the content of a Secret.
type widgetReconciler struct {
	client.Client
	bug string
}

func (r *widgetReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	w := newWidget()
	if err := r.Get(ctx, request.NamespacedName, w); err != nil || w.GetDeletionTimestamp() != nil || w.GetAnnotations()["approved"] != "true" {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var secret corev1.Secret
	if err := r.Get(ctx, client.ObjectKey{Namespace: w.GetNamespace(), Name: "settings"}, &secret); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if secret.Name != "" && secret.Kind != "Secret" {
		panic("what comes from a cache has its kind")
	}
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.GetNamespace(), Name: w.GetName()}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, made, func() error {
		made.Data = map[string]string{"color": string(secret.Data["color"])}
		return controllerutil.SetControllerReference(w, made, r.Scheme())
	})
	return reconcile.Result{}, err
}

func newWidget() *unstructured.Unstructured {
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(widgets)
	return w
}

// SetupWithManager is like the method of a real program. Each bug is in its watches, and not in
// Reconcile.
func (r *widgetReconciler) SetupWithManager(m manager.Manager) error {
	if err := m.GetFieldIndexer().IndexField(context.Background(), newWidget(), "spec.color", func(client.Object) []string { return []string{"all"} }); err != nil {
		return err
	}
	matters := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	if r.bug == "predicate" {
		matters = predicate.GenerationChangedPredicate{}
	}
	b := builder.ControllerManagedBy(m).For(newWidget(), builder.WithPredicates(matters))
	if r.bug != "owns" {
		b = b.Owns(&corev1.ConfigMap{})
	}
	if r.bug != "watches" {
		b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.all))
	}
	return b.Complete(r)
}

// all names the Widgets, found by an index.
func (r *widgetReconciler) all(ctx context.Context, secret client.Object) (all []reconcile.Request) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(widgets)
	if err := r.List(ctx, found, client.InNamespace(secret.GetNamespace()), client.MatchingFields{"spec.color": "all"}); err != nil {
		panic(err)
	}
	for _, w := range found.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&w)})
	}
	return all
}

func huntWidgets(t *testing.T, runs int, setup func(manager.Manager) error) *hunt.Report {
	o := hunt.Options{Runs: runs, Lab: labtest.Options{Nodes: -1, Kinds: []memory.Kind{{GroupVersionKind: widgets, Status: true}}}}
	report, err := hunt.Search(o, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []stagereconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme.Scheme}, setup)
		})
		r.Apply(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`, `{apiVersion: v1, kind: Secret, metadata: {name: settings}, data: {color: cmVk}}`)
		r.At(30*time.Minute, "approve", func(u *hunt.User) error {
			return u.Patch(widgets, "default/a", `{"metadata":{"annotations":{"approved":"true"}}}`)
		})
		r.At(20*time.Minute, "change", func(u *hunt.User) error {
			return u.Patch(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "default/settings", `{"data":{"color":"Ymx1ZQ=="}}`)
		})
	})
	require.NoError(t, err)
	return report
}

// TestSetupWithManager hunts a program whose SetupWithManager is not changed.
func TestSetupWithManager(t *testing.T) {
	correct := huntWidgets(t, 300, func(m manager.Manager) error { return (&widgetReconciler{Client: m.GetClient()}).SetupWithManager(m) })
	require.Empty(t, correct.Failures)
	require.Equal(t, 300, correct.Runs)
	for _, bug := range []string{"predicate", "watches", "owns"} {
		t.Run(bug, func(t *testing.T) {
			report := huntWidgets(t, 300, func(m manager.Manager) error {
				return (&widgetReconciler{Client: m.GetClient(), bug: bug}).SetupWithManager(m)
			})
			require.NotEmpty(t, report.Failures)
			f := report.Failures[0]
			t.Logf("%s, run %d, %d faults", f.Check, f.Run, len(f.Outcome.Plan.Faults))
			require.LessOrEqual(t, len(f.Outcome.Plan.Faults), 2)
		})
	}
}

// TestSetupRefusesWhatItCannotDo has a runnable that is not a controller, and a source that is a
// channel.
func TestSetupRefusesWhatItCannotDo(t *testing.T) {
	for text, setup := range map[string]func(manager.Manager) error{
		"a hunt runs controllers only, not a manager.RunnableFunc": func(m manager.Manager) error {
			return m.Add(manager.RunnableFunc(func(context.Context) error { return nil }))
		},
		"is no informer": func(m manager.Manager) error {
			events := make(chan event.GenericEvent)
			return builder.ControllerManagedBy(m).For(&corev1.Secret{}).WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{})).Complete(&widgetReconciler{})
		},
	} {
		_, err := hunt.Search(hunt.Options{Runs: 1}, func(r *hunt.Run) {
			r.Process("operator", func(p *hunt.Process) []stagereconcile.Controller {
				return ctrlruntime.Setup(p, ctrlruntime.Options{}, setup)
			})
		})
		require.ErrorContains(t, err, text)
	}
}
