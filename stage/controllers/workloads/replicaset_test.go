package workloads_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
)

// mishaps are what can happen to a Pod behind the back of its owner.
var mishaps = []func(l *clustertest.Cluster, pod string){
	func(l *clustertest.Cluster, pod string) { l.Patch("Pod", pod, `{metadata: {labels: {app: a}}}`) },
	func(l *clustertest.Cluster, pod string) { l.Patch("Pod", pod, `{metadata: {labels: {app: b}}}`) },
	func(l *clustertest.Cluster, pod string) { l.Patch("Pod", pod, `{metadata: {labels: {app: stranger}}}`) },
	func(l *clustertest.Cluster, pod string) { l.Patch("Pod", pod, `{metadata: {labels: {tier: null}}}`) },
	func(l *clustertest.Cluster, pod string) { l.Patch("Pod", pod, `{metadata: {ownerReferences: null}}`) },
	func(l *clustertest.Cluster, pod string) { l.Delete("Pod", pod) },
	play("ready"), play("ready"), play("ready"), play("unready"), play("fail"), play("gone"),
}

func play(what string) func(*clustertest.Cluster, string) {
	return func(l *clustertest.Cluster, pod string) {
		l.Patch("Pod", pod, fmt.Sprintf("{metadata: {annotations: {%s: %s}}}", recording.PlayAnnotation, what))
	}
}

// TestOwnersCountTheirPodsRight compares what owners say, who keep books, with what is there.
func TestOwnersCountTheirPodsRight(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	l := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: recording.Kubelet})
	l.Load(clustertest.Manifest("replicas"))
	l.Settle()
	for step := range 600 {
		if all := l.List("Pod", ""); len(all) > 0 {
			mishaps[draw.IntN(len(mishaps))](l, all[draw.IntN(len(all))].GetName())
		}
		if step%40 == 0 {
			l.Patch("ReplicaSet", "a", fmt.Sprintf("{spec: {replicas: %d}}", draw.IntN(8)))
			l.Patch("ReplicationController", "b", fmt.Sprintf("{spec: {template: {metadata: {labels: {tier: %q}}}}}", []string{"x", "y"}[draw.IntN(2)]))
		}
		l.Advance(time.Second)
		l.requireCounted("ReplicaSet", "a")
		l.requireCounted("ReplicationController", "b")
	}
	require.Empty(t, l.Errors)
}

// requireCounted counts the Pods of an owner.
func (l *clustertest.Cluster) requireCounted(kind, name string) {
	l.t.Helper()
	owner := l.Get(kind, name)
	want := map[string]int64{"replicas": 0}
	labels, _, _ := unstructured.NestedStringMap(owner.Object, "spec", "template", "metadata", "labels")
	for _, p := range l.List("Pod", "") {
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
			if l.Condition("Pod", p.GetName(), "Ready")["status"] == "True" {
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
