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
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// changes are changes of a Pod that its owner did not make.
var changes = []func(c *clustertest.Cluster, pod string){
	func(c *clustertest.Cluster, pod string) { c.Patch("Pod", pod, `{metadata: {labels: {app: a}}}`) },
	func(c *clustertest.Cluster, pod string) { c.Patch("Pod", pod, `{metadata: {labels: {app: b}}}`) },
	func(c *clustertest.Cluster, pod string) { c.Patch("Pod", pod, `{metadata: {labels: {app: stranger}}}`) },
	func(c *clustertest.Cluster, pod string) { c.Patch("Pod", pod, `{metadata: {labels: {tier: null}}}`) },
	func(c *clustertest.Cluster, pod string) { c.Patch("Pod", pod, `{metadata: {ownerReferences: null}}`) },
	func(c *clustertest.Cluster, pod string) { c.Delete("Pod", pod) },
	play("ready"), play("ready"), play("ready"), play("unready"), play("fail"), play("gone"),
}

func play(what string) func(*clustertest.Cluster, string) {
	return func(c *clustertest.Cluster, pod string) {
		c.Patch("Pod", pod, fmt.Sprintf("{metadata: {annotations: {%s: %s}}}", recording.PlayAnnotation, what))
	}
}

// TestOwnersCountTheirPods compares the statuses of owners with the existing Pods. Owners track
// their Pods by changes.
func TestOwnersCountTheirPods(t *testing.T) {
	ownersCountTheirPods(t, nil, time.Second)
}

// TestOwnersCountTheirPodsLate does the same where requests take time, so that changes fall between
// them.
func TestOwnersCountTheirPodsLate(t *testing.T) {
	slow := timing.LogNormal{Median: 300 * time.Millisecond, P99: 3 * time.Second}
	late := simulation.ClusterLike()
	late.Latency, late.WatchDelay = timing.Latency{Create: slow, Patch: slow, Delete: slow}, 700*time.Millisecond
	ownersCountTheirPods(t, late, 10*time.Minute)
}

// ownersCountTheirPods gives owners time to act after each few changes.
func ownersCountTheirPods(t *testing.T, timing *simulation.Timing, pause time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	c := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: recording.Kubelet, Timing: timing})
	c.Load(clustertest.Manifest("replicas"))
	c.Settle()
	for step := range 600 {
		if all := c.List("Pod", ""); len(all) > 0 {
			changes[random.IntN(len(changes))](c, all[random.IntN(len(all))].GetName())
		}
		if step%40 == 0 {
			c.Patch("ReplicaSet", "a", fmt.Sprintf("{spec: {replicas: %d}}", random.IntN(8)))
			tier := []string{"x", "y"}[random.IntN(2)]
			c.Patch("ReplicationController", "b", fmt.Sprintf("{spec: {template: {metadata: {labels: {tier: %q}}}}}", tier))
		}
		if timing != nil && step%4 > 0 {
			c.Advance(time.Duration(random.IntN(900)) * time.Millisecond)
			continue
		}
		c.Advance(pause)
		requireCounted(t, c, "ReplicaSet", "a")
		requireCounted(t, c, "ReplicationController", "b")
	}
	if timing == nil {
		require.Empty(t, c.Errors)
	}
}

// requireCounted counts the Pods of an owner and compares them with its status.
func requireCounted(t *testing.T, c *clustertest.Cluster, kind, name string) {
	t.Helper()
	owner := c.Get(kind, name)
	want := map[string]int64{"replicas": 0}
	labels, _, _ := unstructured.NestedStringMap(owner.Object, "spec", "template", "metadata", "labels")
	for _, p := range c.List("Pod", "") {
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		ref := metav1.GetControllerOf(&p)
		selected := p.GetLabels()["app"] == name
		adopts := ref == nil && p.GetDeletionTimestamp() == nil && phase != "Failed" && selected
		require.False(t, adopts, "%s has to adopt %s", name, p.GetName())
		switch {
		case ref == nil || ref.UID != owner.GetUID() || phase == "Failed":
		case p.GetDeletionTimestamp() != nil:
			if selected { // other Pods are not released, and do not count
				want["terminatingReplicas"]++
			}
		default:
			want["replicas"]++
			if p.GetLabels()["tier"] == labels["tier"] {
				want["fullyLabeledReplicas"]++
			}
			if c.Condition("Pod", p.GetName(), "Ready")["status"] == "True" {
				want["readyReplicas"]++
			}
		}
	}
	for _, field := range []string{"replicas", "fullyLabeledReplicas", "readyReplicas", "terminatingReplicas"} {
		got, ok, _ := unstructured.NestedInt64(owner.Object, "status", field)
		if ok || field != "terminatingReplicas" {
			require.Equal(t, want[field], got, "%s of %s: %v", field, name, owner.Object["status"])
		}
	}
	replicas, _, _ := unstructured.NestedInt64(owner.Object, "spec", "replicas")
	require.Equal(t, replicas, want["replicas"], name)
}

// TestAReplicaSetKeepsPodsThatFailed: it does not release failed Pods, although they do not count.
func TestAReplicaSetKeepsPodsThatFailed(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: recording.Kubelet})
	c.Load(clustertest.Manifest("replicas"))
	c.Settle()
	all := c.List("Pod", "app=a")
	for i, what := range []string{"fail", "ready"} {
		play(what)(c, all[i].GetName())
		c.Settle()
		c.Patch("Pod", all[i].GetName(), `{metadata: {labels: {app: stranger}}}`)
		c.Settle()
	}
	require.NotEmpty(t, c.Get("Pod", all[0].GetName()).GetOwnerReferences(), "it failed")
	require.Empty(t, c.Get("Pod", all[1].GetName()).GetOwnerReferences(), "it runs")
}
