package e2e_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// kwokWrites are the kinds that kwok and stagecraft write here, and their namespaces.
var kwokWrites = map[schema.GroupVersionKind]string{
	nodeKind: "",
	podKind:  "default",
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}: "kube-node-lease",
}

// TestSameResultAsKwok has kwok and stagecraft play the same Stages on the same objects, each on a
// fresh server, and compares the resulting objects.
func TestSameResultAsKwok(t *testing.T) {
	kwok, err := controlplane.Kwok("../kwokbin", os.Stderr)
	if errors.Is(err, controlplane.ErrNoKwok) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Parallel()
	for name, files := range map[string][]string{
		"fast":    {"node-fast.yaml", "node-heartbeat-with-lease.yaml", "pod-fast.yaml"},
		"general": {"node-fast.yaml", "node-heartbeat-with-lease.yaml", "pod-general.yaml", "pod-chaos.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			stages := stageFile(t, files)
			ours := playObjects(t, func(t *testing.T, plane *controlplane.Plane) { playAsKwok(t, plane, stages) })
			theirs := playObjects(t, func(t *testing.T, plane *controlplane.Plane) { playKwok(t, plane, kwok, stages) })
			require.Equal(t, theirs, ours)
		})
	}
}

// stageFile writes presets into one file.
func stageFile(t *testing.T, files []string) string {
	var parts []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("../../../stage/presets", file))
		require.NoError(t, err)
		parts = append(parts, string(text))
	}
	path := filepath.Join(t.TempDir(), "stages.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(parts, "\n---\n")), 0o600))
	return path
}

func playKwok(t *testing.T, plane *controlplane.Plane, program, stages string) {
	p, err := plane.StartProgram(program, "--kubeconfig="+plane.Kubeconfig(), "--config="+stages, "--manage-all-nodes=true", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
}

// playAsKwok plays like kwok: it manages all nodes and renews their Leases.
func playAsKwok(t *testing.T, plane *controlplane.Plane, stages string) {
	source, err := stage.Load(stages)
	require.NoError(t, err)
	network := render.NewNetwork(render.NetworkOptions{Node: render.Node{IPs: []string{"127.0.0.1"}}})
	set, err := stage.Compile(stage.Options{Env: network, Version: "v0.8.0"}, source)
	require.NoError(t, err)
	cluster, err := kube.NewForConfig(plane.Config())
	require.NoError(t, err)
	holder, err := nodes.New(cluster, nodes.Options{Lease: nodes.Lease{Identity: "stagecraft"}})
	require.NoError(t, err)
	player := player.New(set, cluster, player.Options{Seed: 1, Filter: holder.Plays, Select: holder.Rules().Select()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- holder.Run(ctx, player.Refilter) }()
	go func() { done <- player.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// playObjects starts a server and a player, creates and deletes objects, and returns the states
// that they reached, as YAML.
func playObjects(t *testing.T, play func(*testing.T, *controlplane.Plane)) (result string) {
	t.Helper()
	assets, err := controlplane.Assets("../kubebin", io.Discard)
	require.NoError(t, err)
	t.Run("life", func(t *testing.T) { // the player and the server end with this subtest
		plane, err := controlplane.Start(assets)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, plane.Stop()) })
		cluster, err := kube.NewForConfig(plane.Config())
		require.NoError(t, err)
		play(t, plane)
		result = createAndDelete(t, cluster)
	})
	return result
}

// createAndDelete creates and deletes objects and returns their states.
func createAndDelete(t *testing.T, cluster *kube.Cluster) string {
	for _, obj := range decode(t, kwokNodes) {
		_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, obj.GetName()+" is ready", func() bool {
			node, err := cluster.Get(t.Context(), nodeKind, nameOf(obj))
			return err == nil && condition(node, "Ready") == "True"
		})
	}
	for _, obj := range decode(t, kwokPods) {
		obj.SetNamespace("default")
		removeDelays(obj)
		_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	waitPhases(t, cluster, map[string]string{"one": "Running", "three": "Running", "initialized": "Running", "gated": "Running", "of-the-host": "Running", "work": "Succeeded",
		"work-in-steps": "Succeeded", "unbound": "Pending", "astray": "Pending", "deleted": "Running", "held": "Running", "two-steps": "Running"})
	begun := waitIdle(t, cluster)

	thirty, remove := int64(30), []string{"deleted", "held", "two-steps"}
	for _, name := range remove {
		require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: "default", Name: name}, metav1.DeleteOptions{GracePeriodSeconds: &thirty}))
	}
	require.NoError(t, cluster.Delete(t.Context(), nodeKind, types.NamespacedName{Name: "leaving"}, metav1.DeleteOptions{}))
	waitPhases(t, cluster, map[string]string{"deleted": "", "two-steps": "", "held": "Running"})
	deleted := waitIdle(t, cluster)

	release := []byte(`{"metadata": {"finalizers": null}}`)
	_, err := cluster.Patch(t.Context(), podKind, types.NamespacedName{Namespace: "default", Name: "held"}, types.MergePatchType, release, metav1.PatchOptions{})
	require.NoError(t, err)
	waitPhases(t, cluster, map[string]string{"held": ""})
	return "# begun\n" + begun + "# deleted\n" + deleted + "# released\n" + waitIdle(t, cluster)
}

// removeDelays removes the delays of Stages that read them from annotations.
func removeDelays(pod *unstructured.Unstructured) {
	quick := map[string]string{}
	for _, name := range []string{"pod-create", "pod-init-container-running", "pod-init-container-completed", "pod-ready", "pod-complete", "pod-delete",
		"pod-container-running-failed", "pod-init-container-running-failed"} {
		quick[name+".stage.kwok.x-k8s.io/delay"] = "10ms"
		quick[name+".stage.kwok.x-k8s.io/jitter-delay"] = "20ms"
	}
	pod.SetAnnotations(quick)
}

// waitPhases waits until the Pods have reached the phases; "" means that a Pod is gone.
func waitPhases(t *testing.T, cluster *kube.Cluster, want map[string]string) {
	t.Helper()
	for name, p := range want {
		eventually(t, name+" has come to "+p, func() bool { return phase(t, cluster, "default", name) == p })
	}
}

// waitIdle waits until nothing has happened for some time, and returns the state of all objects.
func waitIdle(t *testing.T, cluster *kube.Cluster) (state string) {
	t.Helper()
	const quiet = time.Second
	since := time.Now()
	eventually(t, "nothing happens any more", func() bool {
		if now := stateOf(t, cluster); now != state {
			state, since = now, time.Now()
		}
		return time.Since(since) > quiet
	})
	return state
}

// stateOf is the state on which kwok and stagecraft must agree: without times, addresses, and
// values that the server generates.
func stateOf(t *testing.T, cluster *kube.Cluster) string {
	t.Helper()
	var parts []string
	for kind, namespace := range kwokWrites {
		list, err := cluster.List(t.Context(), kind, namespace, metav1.ListOptions{})
		require.NoError(t, err)
		for _, obj := range list.Items {
			for _, made := range []string{"uid", "resourceVersion", "managedFields"} {
				unstructured.RemoveNestedField(obj.Object, "metadata", made)
			}
			for _, ours := range []string{"holderIdentity", "acquireTime"} { // of Leases: the holder and the time, which kwok does not set
				unstructured.RemoveNestedField(obj.Object, "spec", ours)
			}
			b, err := yaml.Marshal(normalValue("", obj.Object))
			require.NoError(t, err)
			parts = append(parts, string(b))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "---\n")
}

// normalValue replaces values that differ from run to run.
func normalValue(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normalValue(k, v[k])
		}
	case []any:
		for i := range v {
			v[i] = normalValue(field, v[i])
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil {
			return "TIME"
		}
		if _, err := netip.ParseAddr(v); err == nil {
			return "ADDRESS"
		}
		if field == "uid" {
			return "UID"
		}
	}
	return v
}

const kwokNodes = `
{apiVersion: v1, kind: Node, metadata: {name: bare}}
---
{apiVersion: v1, kind: Node, metadata: {name: furnished, labels: {zone: a}}, spec: {podCIDR: 10.9.0.0/24, podCIDRs: [10.9.0.0/24]},
 status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "3", memory: 7Gi, pods: "100"},
   nodeInfo: {architecture: arm64, operatingSystem: linux, osImage: own,
  kernelVersion: "6", containerRuntimeVersion: own, kubeletVersion: v1.36.3, kubeProxyVersion: v1.36.3, machineID: "1", systemUUID: "2", bootID: "3"},
  addresses: [{type: ExternalIP, address: 192.0.2.7}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: leaving}}
`

const kwokPods = `
{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {nodeName: bare, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: three}, spec: {nodeName: furnished, containers: [{name: a, image: a:1},
  {name: b, image: b:1, ports: [{containerPort: 80}]}, {name: c, image: c:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: initialized}, spec: {nodeName: bare,
  initContainers: [{name: i, image: i:1}, {name: j, image: j:1}], containers: [{name: a, image: a:1}, {name: b, image: b:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated}, spec: {nodeName: furnished,
  readinessGates: [{conditionType: example.com/lb}], containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: of-the-host}, spec: {nodeName: furnished, hostNetwork: true, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: work, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job,
  uid: "1"}]}, spec: {nodeName: bare, restartPolicy: Never, containers: [{name: a, image: a:1}, {name: b, image: b:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: work-in-steps, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job, uid: "1"}]},
 spec: {nodeName: furnished, restartPolicy: Never, initContainers: [{name: i, image: i:1}], containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unbound}, spec: {schedulerName: none, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: astray}, spec: {nodeName: missing, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: deleted}, spec: {nodeName: bare, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: held, finalizers: [example.com/hold]}, spec: {nodeName: bare, containers: [{name: a, image: a:1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: two-steps}, spec: {nodeName: furnished, terminationGracePeriodSeconds: 60,
  containers: [{name: a, image: a:1}, {name: b, image: b:1}]}}
`
