package player_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A lateTransport sees what happens to one kind some time later, and counts its writes.
type lateTransport struct {
	hubTransport
	kind   schema.GroupVersionKind
	delay  time.Duration
	writes *atomic.Int64
}

func (l lateTransport) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	w, err := l.hubTransport.Watch(ctx, kind, namespace, o)
	if err != nil || kind != l.kind {
		return w, err
	}
	out := make(chan watch.Event)
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			select {
			case <-time.After(l.delay):
			case <-ctx.Done():
				return
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return watch.NewProxyWatcher(out), nil
}

func (l lateTransport) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	l.writes.Add(1)
	return l.hubTransport.Create(ctx, obj, o)
}

func (l lateTransport) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	l.writes.Add(1)
	return l.hubTransport.Delete(ctx, kind, name, o)
}

func (l lateTransport) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	l.writes.Add(1)
	return l.hubTransport.Patch(ctx, kind, name, t, data, o, sub...)
}

// Two Players. One of them sees the StagedBindingPolicies, the BindingPolicies or the Bindings a
// second late: the workload comes to prod and is never taken from there.
func TestTwoPlayers(t *testing.T) {
	for _, kind := range []schema.GroupVersionKind{stagedPolicyKind, bindingPolicyKind, bindingPolicyKind.GroupVersion().WithKind("Binding")} {
		t.Run(kind.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playTwo(t, kind) })
		})
	}
}

func playTwo(t *testing.T, kind schema.GroupVersionKind) {
	h := newHub(t, twoStages("    approval: {after: true}\n"))
	h.available = map[string]int64{"dev1": 1}
	var writes atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for _, delay := range []time.Duration{0, time.Second} {
		go func() {
			l := lateTransport{hubTransport{h.cluster, h}, kind, delay, &writes}
			done <- player.Play(ctx, l, player.Options{})
		}()
	}
	hasProd, turns := false, 0
	turn := func() {
		h.turn()
		if hasProd {
			require.Contains(t, h.exist(), "s.stage.prod")
		}
		_, hasProd = h.policies["s.stage.prod"]
		turns++
	}
	for range 20 {
		turn()
	}
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"%safter.dev": "anna"}}}`, v1alpha1.ApprovalPrefix)
	_, err := h.cluster.Patch(ctx, stagedPolicyKind, types.NamespacedName{Name: "s"}, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	for range 20 {
		turn()
	}
	require.Equal(t, []string{"s.stage.prod"}, h.exist())
	require.True(t, h.holds("Succeeded"))
	require.Less(t, writes.Load(), int64(30))
	stop()
	<-done
	<-done
}

// changedBeforeDelete has somebody change a BindingPolicy right before it is deleted for the first
// time.
type changedBeforeDelete struct {
	hubTransport
	answers *[]error
}

func (c changedBeforeDelete) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	if len(*c.answers) == 0 {
		patch := []byte(`{"metadata": {"annotations": {"changed": "by somebody"}}}`)
		if _, err := c.cluster.Patch(ctx, kind, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	err := c.hubTransport.Delete(ctx, kind, name, o)
	*c.answers = append(*c.answers, err)
	return err
}

// A BindingPolicy that has changed since it was read is not deleted before it was read again.
func TestPlayerDeletesWhatItHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.available = map[string]int64{"dev1": 1}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		var answers []error
		go func() {
			done <- player.Play(ctx, changedBeforeDelete{hubTransport{h.cluster, h}, &answers}, player.Options{})
		}()
		for range 12 {
			h.turn()
		}
		stop()
		<-done
		require.Equal(t, []string{"s.stage.prod"}, h.exist())
		require.Len(t, answers, 2)
		require.True(t, apierrors.IsConflict(answers[0]), "%v", answers[0])
		require.NoError(t, answers[1])
	})
}

// changedBeforePatch has another Player write a BindingPolicy right before it is written for the first time.
type changedBeforePatch struct {
	hubTransport
	answers *[]error
}

func (c changedBeforePatch) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if kind == bindingPolicyKind && len(*c.answers) == 0 {
		patch := []byte(`{"metadata": {"annotations": {"changed": "by somebody"}}}`)
		if _, err := c.cluster.Patch(ctx, kind, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	stored, err := c.hubTransport.Patch(ctx, kind, name, t, data, o, sub...)
	if kind == bindingPolicyKind {
		*c.answers = append(*c.answers, err)
	}
	return stored, err
}

// A BindingPolicy that another Player has written since it was read is not written over: the late write fails.
func TestALateWriteChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		var answers []error
		go func() {
			done <- player.Play(ctx, changedBeforePatch{hubTransport{h.cluster, h}, &answers}, player.Options{})
		}()
		h.turn()
		_, err := h.cluster.Patch(ctx, stagedPolicyKind, policyName, types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/stages/0/clusterSelectors"}]`), metav1.PatchOptions{})
		require.NoError(t, err)
		for range 4 {
			h.turn()
		}
		stop()
		<-done
		require.Len(t, answers, 2)
		require.True(t, apierrors.IsConflict(answers[0]), "%v", answers[0])
		require.NoError(t, answers[1])
		require.Empty(t, h.policies["s.stage.dev"].Spec.ClusterSelectors)
	})
}

// Somebody deletes what the Player creates, as soon as it is there.
func TestPlayerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		var writes atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			l := lateTransport{hubTransport{h.cluster, h}, schema.GroupVersionKind{}, 0, &writes}
			done <- player.Play(ctx, l, player.Options{})
		}()
		w, err := h.cluster.Watch(ctx, bindingPolicyKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		go func() {
			for e := range w.ResultChan() {
				if e.Type == watch.Added {
					_ = h.cluster.Delete(ctx, bindingPolicyKind, types.NamespacedName{Name: "s.stage.dev"}, metav1.DeleteOptions{})
				}
			}
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Greater(t, writes.Load(), int64(10))
		require.Less(t, writes.Load(), int64(60))
		stop()
		w.Stop()
		<-done
	})
}

// A8, F6: two Players whose clocks are four minutes apart, and one that dies between the status and the placement and
// stays away for ten minutes. A soak is not shorter than it says, and a deadline counts from the delivery.
func TestPlayersWithClocksApart(t *testing.T) {
	for _, kind := range []fleetKind{overHub, overSpace, overOCM, overArgo} {
		for _, health := range []health{well, _slow} {
			h := newHistory(kind, rand.New(rand.NewPCG(1, 5)))
			h.designs = []design{{keep: true, staged: kind.content(), stages: []plannedStage{
				{name: "sa", key: "env", value: "a", soak: 60, deadline: 30}, {name: "sb", key: "env", value: "b"}}}}
			h.writePolicy()
			h.health["web1"], h.actors = health, []*actor{{offset: -2 * time.Minute}, {nth: 1, offset: 2 * time.Minute}}
			for _, a := range h.actors {
				h.start(a)
			}
			h.actors[0].fates = []fate{carriedOut, dies}
			h.turn(h.actors[0], ^uint32(0))
			h.now = h.now.Add(10 * time.Minute)
			began, ended := map[v1alpha1.Phase]time.Time{}, v1alpha1.Succeeded
			if health == _slow {
				ended = v1alpha1.Failed
			}
			for n := range 200 {
				h.turn(h.actors[n%2], ^uint32(0))
				h.chain(^uint32(0))
				for _, m := range h.members {
					m.beat++
				}
				if phase := stageIn(h.status(), "sa").Phase; began[phase].IsZero() {
					began[phase] = h.now
				}
				h.now = h.now.Add(time.Second)
			}
			require.Empty(t, h.fault)
			require.NotZero(t, began[ended], "%s: %v", kind, began)
			lasted, limit := began[ended].Sub(h.arrived["a1"][h.source()]), 30*time.Second
			if health == well {
				lasted, limit = began[ended].Sub(began[v1alpha1.Soaking]), time.Minute
			}
			require.GreaterOrEqual(t, lasted, limit-2*time.Second, "%s: %v", kind, began)
			require.LessOrEqual(t, lasted, limit+15*time.Second, "%s: %v", kind, began)
		}
	}
}
