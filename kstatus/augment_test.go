package kstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func runningPod(t *testing.T, conditions string) *unstructured.Unstructured {
	return parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running, conditions: "+conditions+"}}")
}

func conditions(t *testing.T, obj *unstructured.Unstructured) []any {
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	require.NoError(t, err)
	return list
}

func setReady(t *testing.T, obj *unstructured.Unstructured) {
	list := append(conditions(t, obj), map[string]any{"type": "Ready", "status": "True"})
	require.NoError(t, unstructured.SetNestedSlice(obj.Object, list, "status", "conditions"))
}

func TestAugmentWritesTheCondition(t *testing.T) {
	pod := runningPod(t, "[]")
	r := kstatus.Standard().Augment(pod, now)
	require.Equal(t, kstatus.InProgress, r.Status)
	require.Equal(t, []any{map[string]any{
		"type": "Reconciling", "status": "True", "reason": "PodRunningNotReady", "message": "Pod is running but is not Ready",
		"lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z", "augmentedBy": "kstatus",
	}}, conditions(t, pod))
}

func TestAugmentTwiceIsOnce(t *testing.T) {
	pod := runningPod(t, `[{type: Ready, status: "False"}]`)
	kstatus.Standard().Augment(pod, now)
	once := pod.DeepCopy()
	kstatus.Standard().Augment(pod, now.Add(time.Hour))
	require.Equal(t, once, pod)
}

func TestAugmentIsNoEvidence(t *testing.T) {
	pod := runningPod(t, "[]")
	kstatus.Standard().Augment(pod, now)
	setReady(t, pod)
	require.Equal(t, "Current: Pod is Ready", kstatus.Standard().Compute(pod, now).String())
}

func TestAugmentRecovers(t *testing.T) {
	pod := runningPod(t, "[]")
	kstatus.Standard().Augment(pod, now)
	setReady(t, pod)
	kstatus.Standard().Augment(pod, now.Add(time.Minute))
	require.Equal(t, []any{map[string]any{"type": "Ready", "status": "True"}}, conditions(t, pod))
}

func TestAugmentAddsNoStatus(t *testing.T) {
	for _, manifest := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, status: text}",
	} {
		obj := parse(t, manifest)
		before := obj.DeepCopy()
		kstatus.Standard().Augment(obj, now)
		require.Equal(t, before, obj)
	}
	require.Equal(t, kstatus.Unknown, kstatus.Standard().Augment(nil, now).Status)
}

func TestAugmentKeepsWhatControllersReport(t *testing.T) {
	pod := runningPod(t, `[{type: Stalled, status: "True", reason: PodHasFailed, message: it has}]`)
	before := pod.DeepCopy()
	require.Equal(t, kstatus.Failed, kstatus.Standard().Augment(pod, now).Status)
	require.Equal(t, before, pod)
}

func TestAugmentTurnsAConditionOver(t *testing.T) {
	pod := runningPod(t, `[{type: Reconciling, status: "False", reason: Done, lastTransitionTime: "2025-01-01T00:00:00Z"}]`)
	kstatus.Standard().Augment(pod, now)
	require.Len(t, conditions(t, pod), 1)
	c := conditions(t, pod)[0].(map[string]any)
	require.Equal(t, "True", c["status"])
	require.Equal(t, "2026-01-01T00:00:00Z", c["lastTransitionTime"])
	kept := runningPod(t, `[{type: Reconciling, status: "True", reason: A, message: "", lastTransitionTime: "2025-01-01T00:00:00Z"}]`)
	kstatus.Standard().Augment(kept, now)
	require.Equal(t, "2025-01-01T00:00:00Z", conditions(t, kept)[0].(map[string]any)["lastTransitionTime"])
}

func TestAugmentLeavesTheOldListAlone(t *testing.T) {
	pod := runningPod(t, `[{type: Reconciling, status: "False"}]`)
	shared, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "status", "conditions")
	kstatus.Standard().Augment(pod, now)
	require.Equal(t, []any{map[string]any{"type": "Reconciling", "status": "False"}}, shared)
}

func TestAConditionThatAControllerReportsStaysEvidence(t *testing.T) {
	obj := parse(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2}, status: {observedGeneration: 1,
  conditions: [{type: Reconciling, status: "True", reason: Rollout}]}}`)
	require.Equal(t, "LatestGenerationNotObserved", kstatus.Standard().Augment(obj, now).Reason)
	require.NoError(t, unstructured.SetNestedField(obj.Object, int64(2), "status", "observedGeneration"))
	require.Equal(t, kstatus.InProgress, kstatus.Standard().Augment(obj, now).Status)
}
