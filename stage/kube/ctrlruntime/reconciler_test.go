package ctrlruntime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// A clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// job is a Pod that completes.
func job() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, UID: "u", OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "j"}}},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "a", Image: "a1"}}},
	}
}

func fakeClient(funcs interceptor.Funcs, objs ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithObjects(objs...).WithStatusSubresource(&corev1.Pod{}).WithInterceptorFuncs(funcs).Build()
}

func phase(t *testing.T, c client.Client) corev1.PodPhase {
	t.Helper()
	var pod corev1.Pod
	require.NoError(t, c.Get(t.Context(), web, &pod))
	return pod.Status.Phase
}

// TestReconcilerPlaysALife follows a Pod only by the times at which the Reconciler asks to be
// called again.
func TestReconcilerPlaysALife(t *testing.T) {
	c := fakeClient(interceptor.Funcs{}, job())
	now := newClock()
	var trace []stage.TraceEvent
	r := ctrlruntime.NewReconciler(ctrlruntime.New(c), stage.MustCompile(presets.PodGeneral()), podKind, ctrlruntime.ReconcilerOptions{
		Seed: 1, Now: now.read, Trace: func(e stage.TraceEvent) { trace = append(trace, e) },
	})
	var phases []corev1.PodPhase
	for range 10 {
		again, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		require.NoError(t, err)
		phases = append(phases, phase(t, c))
		if again.RequeueAfter == 0 {
			break
		}
		early, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		require.NoError(t, err)
		require.Equal(t, again, early, "asking early changes nothing")
		now.now = now.now.Add(again.RequeueAfter)
	}
	require.Equal(t, []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}, phases)
	var played []string
	for _, e := range trace {
		if e.Kind == stage.TracePlayed {
			played = append(played, e.Stage)
		}
	}
	require.Equal(t, []string{"pod-create", "pod-ready", "pod-complete"}, played)
}

const letGo = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: let-go}, spec: {resourceRef: {apiGroup: v1, kind: Pod},
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}, steps: [{finalizers: {empty: true}}, {delete: true}]}}`

func TestReconcilerDeletes(t *testing.T) {
	pod := job()
	pod.Finalizers = []string{"kwok.x-k8s.io/fake"}
	c := fakeClient(interceptor.Funcs{}, pod)
	require.NoError(t, c.Delete(t.Context(), pod))
	r := ctrlruntime.NewReconciler(ctrlruntime.New(c), stage.MustCompile(stage.Parse("let-go.yaml", []byte(letGo))), podKind, ctrlruntime.ReconcilerOptions{})
	for range 2 { // the second time it no longer exists
		again, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		require.NoError(t, err)
		require.Zero(t, again)
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), web, &corev1.Pod{})))
	}
}

// TestReconcilerGoesOnAfterAFailure fails the first patches: the transition is done again at once,
// without another delay.
func TestReconcilerGoesOnAfterAFailure(t *testing.T) {
	fails := 0
	funcs := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
		if fails > 0 {
			fails--
			return errors.New("connection reset")
		}
		return c.SubResource(sub).Patch(ctx, obj, p, o...)
	}}
	c := fakeClient(funcs, job())
	now := newClock()
	r := ctrlruntime.NewReconciler(ctrlruntime.New(c), stage.MustCompile(presets.PodGeneral()), podKind, ctrlruntime.ReconcilerOptions{Now: now.read})
	again, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
	require.NoError(t, err)
	now.now = now.now.Add(again.RequeueAfter)
	fails = 2
	for range fails {
		_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		require.ErrorContains(t, err, "connection reset")
		require.Empty(t, phase(t, c))
	}
	_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
	require.NoError(t, err)
	require.Equal(t, corev1.PodPending, phase(t, c))
}

// TestReconcilerDropsWhatNoLongerMatches changes the object between a failure and the next try.
func TestReconcilerDropsWhatNoLongerMatches(t *testing.T) {
	fail := true
	funcs := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
		if fail {
			return errors.New("connection reset")
		}
		return c.SubResource(sub).Patch(ctx, obj, p, o...)
	}}
	pending := job()
	pending.Status.Phase = corev1.PodPending
	c := fakeClient(funcs, pending)
	r := ctrlruntime.NewReconciler(ctrlruntime.New(c), stage.MustCompile(presets.PodFast()), podKind, ctrlruntime.ReconcilerOptions{})
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
	require.Error(t, err)
	fail = false
	var pod corev1.Pod
	require.NoError(t, c.Get(t.Context(), web, &pod))
	pod.Status.Phase = corev1.PodFailed
	pod.Status.PodIP = "10.0.0.1"
	require.NoError(t, c.Status().Update(t.Context(), &pod))
	_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
	require.NoError(t, err)
	require.Equal(t, corev1.PodFailed, phase(t, c))
}

func TestWhatCannotBeEvaluatedIsNotTriedAgain(t *testing.T) {
	set := stage.MustCompile(stage.Parse("bad.yaml", []byte(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: bad},
  spec: {resourceRef: {apiGroup: v1, kind: Pod}, selector: {}, steps: [{patch: {subresource: status, root: status, template: '{{ fail "no" }}'}}]}}`)))
	r := ctrlruntime.NewReconciler(ctrlruntime.New(fakeClient(interceptor.Funcs{}, job())), set, podKind, ctrlruntime.ReconcilerOptions{})
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
	require.ErrorIs(t, err, reconcile.TerminalError(nil))
}

// A lagging client reads the state before the last write, like a cache.
type lagging struct {
	client.WithWatch
	old *corev1.Pod
}

func (l lagging) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(l.old)
	obj.(*unstructured.Unstructured).Object = fields
	return err
}

// TestReconcilerDoesNothingTwice reads stale states after its own writes: neither is a Stage played
// again, nor a Pod deleted again that is gone.
func TestReconcilerDoesNothingTwice(t *testing.T) {
	for name, stages := range map[string]stage.Source{"a patch": presets.PodFast(), "a delete": stage.Parse("end.yaml", []byte(end))} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			funcs := interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
					writes++
					return c.SubResource(sub).Patch(ctx, obj, p, o...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
					writes++
					return c.Delete(ctx, obj, o...)
				},
			}
			service := job()
			service.OwnerReferences, service.Status.Phase = nil, corev1.PodPending
			c := fakeClient(funcs, service)
			var old corev1.Pod
			require.NoError(t, c.Get(t.Context(), web, &old))
			r := ctrlruntime.NewReconciler(ctrlruntime.New(lagging{c, &old}), stage.MustCompile(stages), podKind, ctrlruntime.ReconcilerOptions{})
			for range 3 {
				again, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
				require.NoError(t, err)
				require.Zero(t, again)
			}
			require.Equal(t, 1, writes)

			old.UID, old.ResourceVersion = "another", "1"                           // versions of different objects are not compared
			_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}) // it is not the one that is there
			require.Equal(t, 2, writes)
		})
	}
}

const end = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: end},
  spec: {resourceRef: {apiGroup: v1, kind: Pod}, selector: {}, steps: [{delete: true}]}}`
