package controllers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
)

const twoSets = `
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, spec: {replicas: 6, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a, tier: x}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: b}, spec: {replicas: 4, selector: {app: b}, template: {metadata: {labels: {app: b, tier: x}}, spec: {containers: [{name: c, image: i}]}}}}
`

// mishaps are what can happen to a Pod behind the back of its owner.
var mishaps = []func(l *lab, pod string){
	func(l *lab, pod string) { l.patch("Pod", pod, `{metadata: {labels: {app: a}}}`) },
	func(l *lab, pod string) { l.patch("Pod", pod, `{metadata: {labels: {app: b}}}`) },
	func(l *lab, pod string) { l.patch("Pod", pod, `{metadata: {labels: {app: stranger}}}`) },
	func(l *lab, pod string) { l.patch("Pod", pod, `{metadata: {labels: {tier: null}}}`) },
	func(l *lab, pod string) { l.patch("Pod", pod, `{metadata: {ownerReferences: null}}`) },
	func(l *lab, pod string) { l.delete("Pod", pod) },
	play("ready"), play("ready"), play("ready"), play("unready"), play("fail"), play("gone"),
}

func play(what string) func(*lab, string) {
	return func(l *lab, pod string) {
		l.patch("Pod", pod, fmt.Sprintf("{metadata: {annotations: {%s: %s}}}", recording.PlayAnnotation, what))
	}
}

// TestOwnersCountTheirPodsRight compares what owners say, who keep books, with what is there.
func TestOwnersCountTheirPodsRight(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	l := newLab(t, setting{nodes: 3, pods: recording.Kubelet})
	l.load(twoSets)
	l.settle()
	for step := range 600 {
		if all := l.list("Pod", ""); len(all) > 0 {
			mishaps[draw.IntN(len(mishaps))](l, all[draw.IntN(len(all))].GetName())
		}
		if step%40 == 0 {
			l.patch("ReplicaSet", "a", fmt.Sprintf("{spec: {replicas: %d}}", draw.IntN(8)))
			l.patch("ReplicationController", "b", fmt.Sprintf("{spec: {template: {metadata: {labels: {tier: %q}}}}}", []string{"x", "y"}[draw.IntN(2)]))
		}
		l.advance(time.Second)
		l.requireCounted("ReplicaSet", "a")
		l.requireCounted("ReplicationController", "b")
	}
	require.Empty(t, l.fails)
}

// requireCounted counts the Pods of an owner.
func (l *lab) requireCounted(kind, name string) {
	l.t.Helper()
	owner := l.get(kind, name)
	want := map[string]int64{"replicas": 0}
	labels, _, _ := unstructured.NestedStringMap(owner.Object, "spec", "template", "metadata", "labels")
	for _, p := range l.list("Pod", "") {
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		ref := metav1.GetControllerOf(&p)
		adopts := ref == nil && p.GetDeletionTimestamp() == nil && p.GetLabels()["app"] == name
		require.False(l.t, adopts, "%s has to adopt %s", name, p.GetName())
		switch {
		case ref == nil || ref.UID != owner.GetUID() || phase == "Failed":
		case p.GetDeletionTimestamp() != nil:
			want["terminatingReplicas"]++
		default:
			want["replicas"]++
			if p.GetLabels()["tier"] == labels["tier"] {
				want["fullyLabeledReplicas"]++
			}
			if l.condition("Pod", p.GetName(), "Ready")["status"] == "True" {
				want["readyReplicas"]++
			}
		}
	}
	for _, field := range []string{"replicas", "fullyLabeledReplicas", "readyReplicas", "terminatingReplicas"} {
		got, said, _ := unstructured.NestedInt64(owner.Object, "status", field)
		if said || field != "terminatingReplicas" {
			require.Equal(l.t, want[field], got, "%s of %s: %v", field, name, owner.Object["status"])
		}
	}
	replicas, _, _ := unstructured.NestedInt64(owner.Object, "spec", "replicas")
	require.Equal(l.t, replicas, want["replicas"], name)
}
