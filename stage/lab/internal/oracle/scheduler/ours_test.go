package scheduler

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// ours is our scheduler, alone on a cluster in memory.
type ours struct {
	t       testing.TB
	sim     *simulation.Simulation
	start   time.Time
	history *history
	dying   map[types.UID]bool
}

func playOurs(t testing.TB, s scenario) *history {
	o := &ours{t: t, history: newHistory(), dying: map[types.UID]bool{}}
	var err error
	o.sim, err = simulation.New(stage.MustCompile(), simulation.Options{
		Start: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC),
		Controllers: []reconcile.Controller{
			scheduling.Scheduler(scheduling.Options{Trace: o.trace}), scheduling.SchedulingGates(),
		},
		Reconcile: reconcile.Options{Trace: func(e reconcile.TraceEvent) { require.NoError(t, e.Err) }},
	})
	require.NoError(t, err)
	o.start = o.sim.Now()
	require.NoError(t, o.sim.On(podKind, o.note))
	o.bindClaims()
	for _, obj := range s.objects {
		o.create(obj.DeepCopyObject())
		require.NoError(t, o.sim.Advance(context.Background(), 0))
	}
	for _, step := range s.steps {
		o.sim.At(o.start.Add(step.at), func(context.Context) error { o.do(step); return nil })
	}
	require.NoError(t, o.sim.Advance(context.Background(), s.length))
	return o.history
}

// bindClaims has a binder look at claims and volumes.
func (o *ours) bindClaims() {
	b := newBinder(func(after time.Duration, s step) {
		o.sim.At(o.sim.Now().Add(after), func(context.Context) error { o.do(s); return nil })
	})
	require.NoError(o.t, o.sim.On(claimKind, func(_ context.Context, e watch.Event) error {
		c := &corev1.PersistentVolumeClaim{}
		o.read(e, c)
		o.history.note(o.sim.Now().Sub(o.start), "claim:"+nameOf(c), stateOfClaim(c))
		b.onClaim(c)
		return nil
	}))
	require.NoError(o.t, o.sim.On(volumeKind, func(_ context.Context, e watch.Event) error {
		v := &corev1.PersistentVolume{}
		o.read(e, v)
		b.onVolume(v)
		return nil
	}))
}

func (o *ours) read(e watch.Event, into runtime.Object) {
	require.NoError(o.t, runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object.(*unstructured.Unstructured).Object, into))
}

func (o *ours) do(s step) {
	name := types.NamespacedName{Namespace: s.namespace, Name: s.name}
	var err error
	switch {
	case s.create != nil:
		o.create(s.create.DeepCopyObject())
	case s.patch == "":
		err = o.sim.Cluster().Delete(context.Background(), s.kind, name, metav1.DeleteOptions{})
	default:
		for _, sub := range [][]string{nil, {"status"}} {
			_, err = o.sim.Cluster().Patch(context.Background(), s.kind, name, types.MergePatchType, []byte(s.patch), metav1.PatchOptions{}, sub...)
		}
	}
	_ = err // the object to change might be gone
}

func (o *ours) create(obj runtime.Object) {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	require.NoError(o.t, err)
	obj.GetObjectKind().SetGroupVersionKind(gvks[0])
	data, err := json.Marshal(obj)
	require.NoError(o.t, err)
	_ = o.sim.Cluster().Load(context.Background(), data) // it may exist
}

func (o *ours) trace(d scheduling.Decision) {
	a := attempt{at: d.Time.Sub(o.start), pod: d.Pod.String(), outcome: d.Message, scores: d.Scores}
	if d.Node != "" {
		a.outcome = "to " + d.Node
	}
	o.history.attempts = append(o.history.attempts, a)
}

func (o *ours) note(_ context.Context, e watch.Event) error {
	p := &corev1.Pod{}
	o.read(e, p)
	state := stateOf(p)
	if e.Type == watch.Deleted {
		state = "gone"
	}
	o.history.note(o.sim.Now().Sub(o.start), nameOf(p), state)
	if p.DeletionTimestamp != nil && !o.dying[p.UID] && e.Type != watch.Deleted {
		o.dying[p.UID] = true
		o.sim.At(p.DeletionTimestamp.Add(untilGone), func(ctx context.Context) error {
			now := int64(0)
			_ = o.sim.Cluster().Delete(ctx, podKind, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, metav1.DeleteOptions{GracePeriodSeconds: &now})
			return nil // it may be gone
		})
	}
	return nil
}
