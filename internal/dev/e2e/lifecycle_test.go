package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// ready returns the condition Ready of a Node, or nil.
func ready(t *testing.T, cluster *kube.Cluster, node string) map[string]any {
	t.Helper()
	return conditionOf(t, cluster, node, "Ready")
}

func conditionOf(t *testing.T, cluster *kube.Cluster, node, typ string) map[string]any {
	t.Helper()
	obj, err := cluster.Get(t.Context(), nodeKind, types.NamespacedName{Name: node})
	require.NoError(t, err)
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, v := range list {
		if c := v.(map[string]any); c["type"] == typ {
			return c
		}
	}
	return nil
}

// onNodes limits a player to the Nodes of a test.
func onNodes(label string) player.Options {
	return player.Options{Select: map[schema.GroupVersionKind]player.Selection{nodeKind: {Labels: "life=" + label}}}
}

// TestHeartbeats waits for two beats of each preset. That for Nodes with a Lease beats each ten
// minutes, and each second here.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../stage/presets/node-heartbeat-with-lease.yaml")
	require.NoError(t, err)
	quick := strings.NewReplacer(": 600000", ": 1000", ": 610000", ": 1500").Replace(string(text))
	require.NotEqual(t, string(text), quick)
	for name, beat := range map[string]stage.Source{"slow": presets.NodeHeartbeat(), "leased": stage.Parse("quick.yaml", []byte(quick))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			node := "beats-" + name
			createNode(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: "+node+", labels: {life: "+node+"}}}")
			startPlaying(t, cluster, onNodes(node), presets.NodeFast(), beat)
			var first map[string]any
			eventuallyWithin(t, "the Node is ready", func() bool { first = ready(t, cluster, node); return first != nil })
			last := first
			for range 2 {
				before := last["lastHeartbeatTime"]
				eventuallyWithin(t, "its heart beats", func() bool { last = ready(t, cluster, node); return last["lastHeartbeatTime"] != before })
				require.Equal(t, "True", last["status"])
				require.Equal(t, first["lastTransitionTime"], last["lastTransitionTime"])
			}
		})
	}
}

// TestNodesFailAndRecover labels a Node, so that it is not ready and short of memory, and takes the
// label away.
func TestNodesFailAndRecover(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	const label, node = "node-not-ready.stage.kwok.x-k8s.io", "chaotic"
	createNode(t, cluster, `{apiVersion: v1, kind: Node, metadata: {name: chaotic, labels: {life: chaotic},
  annotations: {`+label+"/type: MemoryPressure, "+label+"/reason: Chaos, "+label+"/delay: 10ms, "+label+"/jitter-delay: 10ms}}}")
	startPlaying(t, cluster, onNodes(node), presets.NodeFast(), presets.NodeChaos())
	is := func(typ, status string) {
		t.Helper()
		eventuallyWithin(t, typ+" is "+status, func() bool {
			c := conditionOf(t, cluster, node, typ)
			return c != nil && c["status"] == status && (c["reason"] == "Chaos") == ((typ == "Ready") == (status == "False"))
		})
	}
	set := func(value string) {
		t.Helper()
		_, err := cluster.Patch(t.Context(), nodeKind, types.NamespacedName{Name: node}, types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {%q: %s}}}`, label, value), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	is("Ready", "True")
	set(`"true"`)
	is("Ready", "False")
	is("MemoryPressure", "True")
	set("null")
	is("Ready", "True")
	is("MemoryPressure", "False")
}

// TestRestartsAreKept plays Pods that have been restarted.
func TestRestartsAreKept(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: restarts}}")
	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: restarts}, spec: {nodeName: nowhere, containers: [{name: a, image: a}]}}")
	_, err := cluster.Patch(t.Context(), podKind, types.NamespacedName{Namespace: "restarts", Name: "a"}, types.MergePatchType,
		[]byte(`{"status": {"containerStatuses": [{"name": "a", "image": "a", "imageID": "", "ready": false, "restartCount": 3}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	startPlaying(t, cluster, player.Options{Namespace: "restarts"}, presets.PodFast())
	eventuallyWithin(t, "it runs", func() bool { return phase(t, cluster, "restarts", "a") == "Running" })
	require.Equal(t, map[string]string{"a": "1/1 Running 3"}, table(kubectl(t, plane, "get", "pods", "-n", "restarts"), "READY", "STATUS", "RESTARTS"))
}

// rockets are custom resources with a status, and Stages that read them by CEL.
const (
	rockets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: rockets.lifecycle.example.com}, spec: {group: lifecycle.example.com, scope: Namespaced,
		names: {plural: rockets, singular: rocket, kind: Rocket, listKind: RocketList},
		versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
		schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	rocketStages = `
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: hold}, spec: {resourceRef: {apiGroup: lifecycle.example.com/v1, kind: Rocket},
  selector: {matchExpressions: [{cel: {expression: '!has(self.metadata.deletionTimestamp) && !has(self.metadata.finalizers)'}}]},
  steps: [{finalizers: {add: [{value: lifecycle.example.com/hold}]}}]}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: build}, spec: {resourceRef: {apiGroup: lifecycle.example.com/v1, kind: Rocket},
  selector: {matchExpressions: [{cel: {expression: '!has(self.metadata.deletionTimestamp) && has(self.metadata.finalizers) && self.metadata.generation != self.?status.?observedGeneration.orValue(0)'}}]},
  steps: [{patch: {subresource: status, root: status, template: '{phase: Building, observedGeneration: {{ .metadata.generation }}}'}}]}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: launch},
  spec: {resourceRef: {apiGroup: lifecycle.example.com/v1, kind: Rocket}, delay: {durationMilliseconds: 300},
  selector: {matchExpressions: [{cel: {expression: "!has(self.metadata.deletionTimestamp) && self.?status.?phase.orValue('') == 'Building' && self.metadata.generation == self.status.observedGeneration"}}]},
  steps: [{event: {type: Normal, reason: Launched, message: it flies}}, {patch: {subresource: status, root: status, template: 'phase: Flying'}}]}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: land},
  spec: {resourceRef: {apiGroup: lifecycle.example.com/v1, kind: Rocket}, delay: {durationMilliseconds: 300},
  selector: {matchExpressions: [{cel: {expression: 'has(self.metadata.deletionTimestamp) && has(self.metadata.finalizers)'}}]},
  steps: [{patch: {subresource: status, root: status, template: 'phase: Landed'}}, {finalizers: {empty: true}}]}}`
)

// TestCustomResources takes custom resources through a life: held by a finalizer, built, launched,
// built and launched again when their spec changes, landed.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	define(t, cluster, rockets)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: rockets}}")
	kind, name := schema.GroupVersionKind{Group: "lifecycle.example.com", Version: "v1", Kind: "Rocket"}, types.NamespacedName{Namespace: "rockets", Name: "a"}
	var mu sync.Mutex
	var played []string
	startPlaying(t, cluster, player.Options{Namespace: "rockets", Trace: func(e stage.TraceEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == stage.TraceEffected && e.Err == nil {
			played = append(played, e.Stage)
		}
	}}, stage.Parse("rockets.yaml", []byte(rocketStages)))
	flies := func(generation int64) func() bool {
		return func() bool {
			obj, err := cluster.Get(t.Context(), kind, name)
			require.NoError(t, err)
			observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
			phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
			return phase == "Flying" && observed == generation
		}
	}
	create(t, cluster, "{apiVersion: lifecycle.example.com/v1, kind: Rocket, metadata: {name: a, namespace: rockets}, spec: {crew: 1}}")
	eventuallyWithin(t, "it flies", flies(1))
	_, err := cluster.Patch(t.Context(), kind, name, types.MergePatchType, []byte(`{"spec": {"crew": 2}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventuallyWithin(t, "it flies again", flies(2))
	require.NoError(t, cluster.Delete(t.Context(), kind, name, metav1.DeleteOptions{}))
	eventuallyWithin(t, "it is gone", func() bool {
		list, err := cluster.List(t.Context(), kind, "rockets", metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	want := []string{"hold", "build", "launch", "launch", "build", "launch", "launch", "land", "land"}
	eventuallyWithin(t, "the player has heard so", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(played) >= len(want)
	})
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, want, played)
	require.Contains(t, kubectl(t, plane, "get", "events", "-n", "rockets"), "rocket/a")
}

// TestPodsGoWithinTheirGrace deletes Pods of PodGeneral: each goes at a different moment, between
// one second and the end of its grace.
func TestPodsGoWithinTheirGrace(t *testing.T) {
	t.Parallel()
	const n, grace = 30, 9
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: grace}}")
	var mu sync.Mutex
	due, went := map[string]time.Time{}, map[string]time.Time{}
	startPlaying(t, cluster, player.Options{Namespace: "grace", Trace: func(e stage.TraceEvent) {
		mu.Lock()
		defer mu.Unlock()
		if _, del := e.Effect.(stage.Delete); del && e.Err == nil {
			went[e.Key.Name], due[e.Key.Name] = e.Time, e.Due
		}
	}}, presets.PodGeneral())
	for i := range n {
		createAs(t, cluster, "v1", "Pod", fmt.Sprint("p", i), expectedRow{more: "spec: {containers: [{name: a, image: a}]}, metadata: {namespace: grace}"})
	}
	eventuallyWithin(t, "all run", func() bool { return running(t, cluster, "grace") == n })
	asked := time.Now()
	for i := range n {
		name := types.NamespacedName{Namespace: "grace", Name: fmt.Sprint("p", i)}
		_, err := cluster.Patch(t.Context(), podKind, name, types.MergePatchType, []byte(`{"metadata": {"annotations": {"pod-delete.stage.kwok.x-k8s.io/delay": "1s"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.NoError(t, cluster.Delete(t.Context(), podKind, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(grace))}))
	}
	until := time.Now().Add((grace + 1) * time.Second)
	eventuallyWithin(t, "all are gone", func() bool { return len(podsOf(t, cluster, "grace")) == 0 })
	eventuallyWithin(t, "the player has the answers of all deletions", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(due) == n
	})
	mu.Lock()
	defer mu.Unlock()
	var moments []time.Duration
	for name, at := range due {
		require.False(t, went[name].Before(at), name)
		require.True(t, at.After(asked.Add(time.Second)) && at.Before(until), "%s goes after %v", name, at.Sub(asked))
		moments = append(moments, at.Sub(asked))
	}
	t.Logf("they go after %v to %v", slices.Min(moments), slices.Max(moments))
	require.Greater(t, slices.Max(moments)-slices.Min(moments), 3*time.Second)
}

// TestWorkloads has the real controllers and scheduler, and presets that replace kubelet and
// provisioner. A StatefulSet with volumes scales up and down, a DaemonSet covers the Nodes, a Job
// completes, and all objects are deleted with their namespace.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	p := ownPlane(t)
	startControllers(t, p)
	cluster := clusterOf(t, p)
	volumes := presets.Volumes()
	for _, obj := range volumes.OtherObjects() {
		_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	bound := map[schema.GroupVersionKind]player.Selection{podKind: {Fields: "spec.nodeName!="}}
	startPlaying(t, cluster, player.Options{Seed: 1, Select: bound}, presets.NodeFast(), presets.PodFast(), volumes)
	for i := range 2 {
		create(t, cluster, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: node-%d}}", i))
	}
	for _, manifest := range []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: work}}",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: work}, spec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: db}},
			template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: a, volumeMounts: [{name: data, mountPath: /data}]}]}},
			volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
		`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: work}, spec: {selector: {matchLabels: {app: agent}},
			template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: a}]}}}}`,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: once, namespace: work}, spec: {parallelism: 2, completions: 4,
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`,
	} {
		create(t, cluster, manifest)
	}
	w := workloads{p}
	w.waitColumn(t, "statefulsets", "READY", map[string]string{"db": "3/3"})
	w.waitColumn(t, "daemonsets", "READY", map[string]string{"agent": "2"})
	w.waitColumn(t, "jobs", "COMPLETIONS", map[string]string{"once": "4/4"})
	w.scale(t, 5)
	w.waitColumn(t, "statefulsets", "READY", map[string]string{"db": "5/5"})
	w.scale(t, 2)
	w.waitColumn(t, "statefulsets", "READY", map[string]string{"db": "2/2"})
	w.waitColumn(t, "persistentvolumeclaims", "STATUS", map[string]string{"data-db-0": "Bound", "data-db-1": "Bound", "data-db-2": "Bound", "data-db-3": "Bound", "data-db-4": "Bound"})
	require.Equal(t, 5, strings.Count(kubectl(t, p, "get", "persistentvolumes"), "Bound"))
	namespaceKind := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	require.NoError(t, cluster.Delete(t.Context(), namespaceKind, types.NamespacedName{Name: "work"}, metav1.DeleteOptions{}))
	eventuallyWithin(t, "the namespace and its volumes are gone", func() bool {
		namespaces, err := cluster.List(context.Background(), namespaceKind, "", metav1.ListOptions{FieldSelector: "metadata.name=work"})
		require.NoError(t, err)
		return len(namespaces.Items) == 0 && strings.HasPrefix(kubectl(t, p, "get", "persistentvolumes"), "No resources")
	})
}

// workloads are the workloads of the namespace work.
type workloads struct{ plane *controlplane.Plane }

// waitColumn waits until kubectl prints the wanted values of a column of a resource.
func (w workloads) waitColumn(t *testing.T, resource, column string, want map[string]string) {
	t.Helper()
	eventuallyWithin(t, fmt.Sprint(resource, " ", want), func() bool {
		return maps.Equal(want, table(kubectl(t, w.plane, "get", resource, "-n", "work"), column))
	})
}

// scale scales the StatefulSet by its subresource, as kubectl does.
func (w workloads) scale(t *testing.T, replicas int) {
	t.Helper()
	kubectl(t, w.plane, "scale", "statefulset", "db", "-n", "work", fmt.Sprint("--replicas=", replicas))
}
