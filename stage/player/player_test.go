package player_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

var (
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	webName   = types.NamespacedName{Namespace: "default", Name: "web"}
)

// playing runs a test in a bubble with a cluster and a player on it.
func playing(t *testing.T, set *stage.Set, o player.Options, wrap func(transport.Transport) transport.Transport, test func(ctx context.Context, t *testing.T, c *memory.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		var transport transport.Transport = cluster
		if wrap != nil {
			transport = wrap(cluster)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- player.Play(ctx, set, transport, o) }()
		synctest.Wait()
		test(ctx, t, cluster)
		enough := errors.New("enough")
		cancel(enough)
		require.ErrorIs(t, <-done, enough)
	})
}

func create(t testing.TB, c *memory.Cluster, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj, err := c.Create(context.Background(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return obj
}

func newPod(name, annotations string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "default", "annotations": map[string]any{"a": annotations}},
		"spec":     map[string]any{"nodeName": "node", "containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}}
}

func phase(t testing.TB, c *memory.Cluster, name types.NamespacedName) string {
	t.Helper()
	obj, err := c.Get(context.Background(), podKind, name)
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	require.NoError(t, err)
	p, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return p
}

// lifecycle is a pod's life: Running after 1s, Succeeded after 1s more, deleted 1s after it was
// asked for.
func lifecycle(t testing.TB) *stage.Set {
	none := "{key: .metadata.deletionTimestamp, operator: DoesNotExist}"
	return compile(t,
		stageYAML("run", "  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}, "+none+"]}\n  delay: {durationMilliseconds: 1000}\n  next: {event: {type: Normal, reason: Started, message: started}, finalizers: {add: [{value: example.com/hold}]}, statusTemplate: 'phase: Running'}"),
		stageYAML("complete", "  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}, "+none+"]}\n  delay: {durationMilliseconds: 1000}\n  next: {statusTemplate: 'phase: Succeeded'}"),
		stageYAML("delete", "  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}\n  delay: {durationMilliseconds: 1000}\n  next: {finalizers: {empty: true}, delete: true}"))
}

func TestPlayerPlaysALife(t *testing.T) {
	playing(t, lifecycle(t), player.Options{}, nil, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		for _, want := range []string{"Pending", "Running", "Succeeded", "Succeeded"} {
			require.Equal(t, want, phase(t, c, webName))
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
		}
		require.NoError(t, c.Delete(ctx, podKind, webName, metav1.DeleteOptions{}))
		require.Equal(t, "Succeeded", phase(t, c, webName), "the finalizer holds it")
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, "gone", phase(t, c, webName))

		events, err := c.List(ctx, eventKind, "default", metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		involved, _, _ := unstructured.NestedStringMap(events.Items[0].Object, "involvedObject")
		require.Equal(t, "v1 Pod default/web", strings.Join([]string{involved["apiVersion"], involved["kind"], involved["namespace"] + "/" + involved["name"]}, " "))
	})
}

func TestPlayerLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		TestPlayerPlaysALife(t)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+1)
}

func TestTransientFailuresAreRetriedFromTheEffectThatFailed(t *testing.T) {
	for name, failure := range map[string]error{
		"throttled":   apierrors.NewTooManyRequestsError("slow down"),
		"unavailable": apierrors.NewServiceUnavailable("away"),
		"internal":    apierrors.NewInternalError(errors.New("oops")),
		"timeout":     apierrors.NewTimeoutError("late", 1),
		"expired":     apierrors.NewUnauthorized("the token has expired"),
		"cut off":     errors.New("http2: client connection lost"),
	} {
		t.Run(name, func(t *testing.T) {
			failures := 3
			f := &flaky{fail: func(verb, sub string) error {
				if sub == "status" && failures > 0 {
					failures--
					return failure
				}
				return nil
			}}
			playing(t, lifecycle(t), player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
				create(t, c, newPod("web", ""))
				time.Sleep(5 * time.Second)
				synctest.Wait()
				require.Equal(t, "Succeeded", phase(t, c, webName))
				require.Equal(t, 1, f.count("create"), "the event is not sent again")
				require.Equal(t, 1, f.count("patch"), "nor are the finalizers")
				require.Equal(t, 5, f.count("patch status"), "3 failures and 2 stages")
			})
		})
	}
}

func TestRefusedEffectsAreReportedNotRetried(t *testing.T) {
	var failed []stage.TraceEvent
	f := &flaky{fail: func(verb, sub string) error {
		if sub == "status" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("no"))
		}
		return nil
	}}
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			failed = append(failed, e)
		}
	}}
	playing(t, lifecycle(t), o, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, f.count("patch status"))
		require.Len(t, failed, 1)
		var send *player.SendError
		require.ErrorAs(t, failed[0].Err, &send)
		require.True(t, apierrors.IsForbidden(send.Err))
	})
}

func TestConflictGoesOn(t *testing.T) {
	meddle := true
	f := &flaky{}
	f.fail = func(verb, sub string) error {
		if sub != "status" || !meddle {
			return nil
		}
		meddle = false
		_, err := f.Cluster.Patch(context.Background(), podKind, webName, types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"another"}}}`), metav1.PatchOptions{})
		return err
	}
	playing(t, lifecycle(t), player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, "Running", phase(t, c, webName))
		require.Equal(t, 1, f.count("create"), "effects before the conflict are not repeated")
		require.Equal(t, 1, f.count("patch"))
		require.Equal(t, 2, f.count("patch status"))
	})
}

func TestConflictDropsAStageThatNoLongerMatches(t *testing.T) {
	f := &flaky{}
	set := compile(t, phased("go", "Pending", "  delay: {durationMilliseconds: 1000}\n  next: {statusTemplate: 'phase: Running'}"))
	meddle := true
	f.fail = func(verb, sub string) error {
		if !meddle {
			return nil
		}
		meddle = false
		_, err := f.Cluster.Patch(context.Background(), podKind, webName, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
		return err
	}
	playing(t, set, player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		_, err := c.Patch(ctx, podKind, webName, types.MergePatchType, []byte(`{"status":{"phase":"Pending"}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, "Failed", phase(t, c, webName))
		require.Equal(t, 1, f.count("patch status"))
	})
}

func TestDeleteOfMissingObject(t *testing.T) {
	var failed int
	f := &flaky{fail: func(verb, sub string) error {
		if verb == "delete" {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "web")
		}
		return nil
	}}
	set := compile(t, stageYAML("delete", "  selector: {}\n  next: {delete: true}"))
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			failed++
		}
	}}
	playing(t, set, o, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, f.count("delete"))
		require.Zero(t, failed)
	})
}

// TestPodIsDeletedOnce checks that a Pod is not deleted again in the state that an API server shows
// after the end of the grace period.
func TestPodIsDeletedOnce(t *testing.T) {
	f := &flaky{}
	set := compile(t, stageYAML("delete", "  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}\n  next: {delete: true}"))
	playing(t, set, player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		synctest.Wait()
		require.NoError(t, c.Delete(ctx, podKind, webName, metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, f.count("delete"))
		_, err := c.Get(ctx, podKind, webName)
		require.True(t, apierrors.IsNotFound(err))
	})
}

func TestImpersonation(t *testing.T) {
	f := &flaky{}
	set := compile(t, phased("go", "Pending", `  steps:
  - patch: {root: status, subresource: status, template: 'phase: X', impersonation: {username: alice}}
  - apply: {template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: log}}', impersonation: {username: bob}}`))
	playing(t, set, player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		synctest.Wait()
		require.Equal(t, "X", phase(t, c, webName))
		require.Equal(t, []string{"as alice", "as bob"}, f.calls)
		_, err := c.Get(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, types.NamespacedName{Namespace: "default", Name: "log"})
		require.NoError(t, err, "an object without namespace goes where the source is")
	})
}

func TestNoOpPatchesAreNotSent(t *testing.T) {
	f := &flaky{}
	set := compile(t, stageYAML("go", "  selector: {}\n  next: {statusTemplate: 'phase: Running'}"))
	playing(t, set, player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, f.count("patch status"), "the second time it would change nothing")
	})
}

func TestImmediateNextStageDoesNotWaitForTheWatch(t *testing.T) {
	for _, tc := range []struct {
		immediate string
		want      string
	}{{"true", "Done"}, {"false", "Half"}} {
		t.Run(tc.immediate, func(t *testing.T) {
			set := compile(t,
				stageYAML("half", "  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}\n  immediateNextStage: "+tc.immediate+"\n  next: {statusTemplate: 'phase: Half'}"),
				phased("done", "Half", "  next: {statusTemplate: 'phase: Done'}"))
			playing(t, set, player.Options{}, func(t transport.Transport) transport.Transport { return watchesOfNew{t.(*memory.Cluster)} },
				func(ctx context.Context, t *testing.T, c *memory.Cluster) {
					create(t, c, newPod("web", ""))
					time.Sleep(time.Second)
					synctest.Wait()
					require.Equal(t, tc.want, phase(t, c, webName))
				})
		})
	}
}

func TestPlayerStopsInTheMiddle(t *testing.T) {
	playing(t, lifecycle(t), player.Options{Workers: 3}, nil, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		for i := range 200 {
			create(t, c, newPod(fmt.Sprintf("p%d", i), ""))
		}
		time.Sleep(1000 * time.Millisecond)
	})
}

// TestAHangingRequestHoldsUpNobodyForLong: one object whose patches hang, among others on the same
// worker.
func TestAHangingRequestHoldsUpNobodyForLong(t *testing.T) {
	set := compile(t, phased("go", "Pending", "  next: {statusTemplate: 'phase: Running'}"))
	wrap := func(t transport.Transport) transport.Transport { return hangingPatches{t.(*memory.Cluster)} }
	playing(t, set, player.Options{Workers: 1, Timeout: 10 * time.Second}, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("stuck", ""))
		synctest.Wait()
		for i := range 500 {
			create(t, c, newPod(fmt.Sprintf("p%d", i), ""))
		}
		for range 300 {
			_, err := c.Patch(ctx, podKind, types.NamespacedName{Namespace: "default", Name: "stuck"}, types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"labels":{"t":"%d"}}}`, time.Now().UnixNano())), metav1.PatchOptions{})
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		for i := range 500 {
			require.Equal(t, "Running", phase(t, c, types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("p%d", i)}))
		}
	})
}

// TestAnotherRunRecordsItsOwnEvents: a second player on the same cluster, with the same seed.
func TestAnotherRunRecordsItsOwnEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := compile(t, stageYAML("beat", "  selector: {}\n  delay: {durationMilliseconds: 10000}\n  next: {event: {type: Normal, reason: Beat, message: beat}, statusTemplate: 'beat: {{ Now | Quote }}'}"))
		cluster := memory.New(memory.Options{})
		create(t, cluster, newPod("web", ""))
		for run := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
			require.ErrorIs(t, player.Play(ctx, set, cluster, player.Options{}), context.DeadlineExceeded)
			cancel()
			events, err := cluster.List(t.Context(), eventKind, "default", metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, events.Items, 6*(run+1))
		}
	})
}

// TestALostAnswerDoesNotLoseTheRest: after some failures the first patch is carried out, but its
// answer is lost.
func TestALostAnswerDoesNotLoseTheRest(t *testing.T) {
	set := compile(t, phased("go", "Pending", "  steps: [{patch: {subresource: status, root: status, template: 'phase: Running'}}, {patch: {root: metadata, template: 'labels: {done: really}'}}]"))
	var lost atomic.Bool
	var calls atomic.Int32
	f := &flaky{fail: func(string, string) error {
		if calls.Add(1) < 7 {
			return apierrors.NewServiceUnavailable("away")
		}
		return nil
	}}
	wrap := func(t transport.Transport) transport.Transport {
		f.Cluster = t.(*memory.Cluster)
		return lostAnswer{f, &lost}
	}
	playing(t, set, player.Options{}, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		for !lost.Load() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		before := calls.Load()
		time.Sleep(13 * time.Second) // one pause, at most: the conflict tells that the server is there
		synctest.Wait()
		require.Equal(t, before+2, calls.Load(), "a conflict with what was done already, and the second patch")
		obj, err := c.Get(ctx, podKind, webName)
		require.NoError(t, err)
		require.Equal(t, "really", obj.GetLabels()["done"])
	})
}

// TestALostAnswerIsNotPlayedAgain: the patch has the time in it, so that a second one would change
// the object once more.
func TestALostAnswerIsNotPlayedAgain(t *testing.T) {
	set := compile(t, phased("go", "Pending", `  steps: [{patch: {subresource: status, root: status, template: "phase: Running\nstartTime: {{ Now | Quote }}"}}]`))
	var lost atomic.Bool
	effects := 0
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceEffected && e.Err == nil {
			effects++
		}
	}}
	wrap := func(t transport.Transport) transport.Transport {
		return lostAnswer{&flaky{Cluster: t.(*memory.Cluster), fail: func(string, string) error { return nil }}, &lost}
	}
	playing(t, set, o, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		began := create(t, c, newPod("web", "")).GetCreationTimestamp()
		time.Sleep(time.Minute)
		synctest.Wait()
		obj, err := c.Get(ctx, podKind, webName)
		require.NoError(t, err)
		started, _, _ := unstructured.NestedString(obj.Object, "status", "startTime")
		require.True(t, lost.Load())
		require.Equal(t, began.UTC().Format(time.RFC3339), started)
		require.Equal(t, 1, effects)
	})
}

// TestWhatIsGoneIsNotPlayedAgain: the watch tells of the patch, and not yet of the end.
func TestWhatIsGoneIsNotPlayedAgain(t *testing.T) {
	for name, end := range map[string]string{"deleted": "{delete: true}", "let go": "{finalizers: {empty: true}}"} {
		t.Run(name, func(t *testing.T) {
			set := compile(t, stageYAML("end", "  delay: {durationMilliseconds: 1000}\n  selector: {matchExpressions: [{jq: {key: .metadata.deletionTimestamp, operator: Exists}}]}\n"+
				"  steps: [{patch: {subresource: status, root: status, template: 'phase: Failed'}}, "+end+"]"))
			plays := 0
			o := player.Options{Trace: func(e stage.TraceEvent) {
				if e.Kind == stage.TracePlayed {
					plays++
				}
			}}
			wrap := func(t transport.Transport) transport.Transport { return watchesWithoutDeletes{t.(*memory.Cluster)} }
			playing(t, set, o, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
				pod := newPod("web", "")
				grace := int64(30)
				if name == "let go" {
					grace = 0
					pod.SetFinalizers([]string{"example.com/hold"})
				}
				create(t, c, pod)
				require.NoError(t, c.Delete(ctx, podKind, webName, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
				time.Sleep(10 * time.Second)
				synctest.Wait()
				_, err := c.Get(ctx, podKind, webName)
				require.True(t, apierrors.IsNotFound(err))
				require.Equal(t, 1, plays)
			})
		})
	}
}

func TestKindsThatDoNotExistAreTriedAgain(t *testing.T) {
	kinds := map[stage.TraceKind]int{}
	set := compile(t, stageYAML("a", "  selector: {}"), strings.Replace(stageYAML("b", "  selector: {}"), "{kind: Pod}", "{apiGroup: demo.example.com/v1, kind: Train}", 1))
	o := player.Options{Trace: func(e stage.TraceEvent) { kinds[e.Kind]++ }}
	playing(t, set, o, nil, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Positive(t, kinds[stage.TraceFailed])
		require.Equal(t, 1, kinds[stage.TracePlayed], "the other kinds are played")
	})
}
