package nodes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A history is a cluster whose Nodes and Pods are written down when they change.
type history struct {
	*clustertest.Cluster
	t     testing.TB
	sim   *simulation.Simulation
	start time.Time
	state map[string]string
	lines []string
}

// record records the changes of Nodes and Pods of a cluster from now on.
func record(t testing.TB, c *clustertest.Cluster) *history {
	return follow(&history{Cluster: c, t: t, sim: c.Simulation})
}

// recordWith is a cluster without Stages whose controllers have options.
func recordWith(t testing.TB, o nodes.Options, objs ...string) *history {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{
		Hooks:       []memory.Hooks{admission.Hooks()},
		Controllers: controllers.All(controllers.Options{Nodes: o}), Filter: controllers.Bound, Kubelet: nodes.KubeletRuns,
		Reconcile: reconcile.Options{Events: true},
	})
	require.NoError(t, err)
	h := &history{t: t, sim: sim}
	h.load(objs...)
	require.NoError(t, sim.Advance(t.Context(), 0))
	return follow(h)
}

func follow(h *history) *history {
	h.start, h.state = h.sim.Now(), map[string]string{}
	for _, kind := range []string{"Node", "Pod"} {
		require.NoError(h.t, h.sim.On(clustertest.Kind(kind), func(_ context.Context, e watch.Event) error {
			h.note(e)
			return nil
		}))
	}
	require.NoError(h.t, h.sim.Advance(h.t.Context(), 0))
	h.lines = nil
	return h
}

func (h *history) load(objs ...string) {
	h.t.Helper()
	for _, obj := range objs {
		require.NoError(h.t, h.sim.Cluster().Load(h.t.Context(), []byte(obj)))
	}
}

func (h *history) advance(d time.Duration) {
	h.t.Helper()
	require.NoError(h.t, h.sim.Advance(h.t.Context(), d))
}

func (h *history) note(e watch.Event) {
	obj := e.Object.(*unstructured.Unstructured)
	name, now := obj.GetKind()+" "+obj.GetName(), describe(obj)
	if e.Type == watch.Deleted {
		now = "gone"
	}
	if h.state[name] != now {
		h.state[name] = now
		h.lines = append(h.lines, fmt.Sprintf("%.1f %s: %s", h.sim.Now().Sub(h.start).Seconds(), name, now))
	}
}

// describe returns a line about an object: for a Node whether it is ready and its taints, for a Pod
// its phase, whether it is ready and whether it is being deleted.
func describe(obj *unstructured.Unstructured) string {
	ready, disrupted := "", ""
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, v := range conditions {
		switch c := v.(map[string]any); c["type"] {
		case "Ready":
			ready = fmt.Sprint(c["status"])
		case "DisruptionTarget":
			disrupted = fmt.Sprint(" ", c["reason"])
		}
	}
	if obj.GetKind() == "Pod" {
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		if obj.GetDeletionTimestamp() != nil {
			disrupted += " terminating"
		}
		return phase + " " + ready + disrupted
	}
	taints, _, _ := unstructured.NestedSlice(obj.Object, "spec", "taints")
	var b strings.Builder
	for _, v := range taints {
		t := v.(map[string]any)
		fmt.Fprintf(&b, " %s:%s", strings.TrimPrefix(fmt.Sprint(t["key"]), "node.kubernetes.io/"), t["effect"])
	}
	return ready + b.String()
}

// of returns the lines about objects whose names contain a text.
func (h *history) of(text string) (found []string) {
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

const readyNode = `{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {topology.kubernetes.io/zone: %s}}, status: {
  conditions: [{type: Ready, status: "True", reason: KubeletReady}], allocatable: {cpu: "8", memory: 8Gi, pods: "100"}}}`

// aNode returns a Node of a zone that is ready and sends no heartbeats.
func aNode(name, zone string) string { return fmt.Sprintf(readyNode, name, zone) }

// aPod returns a Pod on a Node with tolerations.
func aPod(name, node, tolerations string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {nodeName: %s, tolerations: [%s], containers: [{name: c, image: i}]}}", name, node, tolerations)
}

// patch changes an object by a merge patch, as YAML.
func (h *history) patch(kind, name, text string, subresource ...string) {
	h.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(h.t, err)
	key := types.NamespacedName{Name: name}
	if kind == "Pod" {
		key.Namespace = "default"
	}
	_, err = h.sim.Cluster().Patch(h.t.Context(), clustertest.Kind(kind), key, types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
	require.NoError(h.t, err)
}

// setReady writes the condition Ready of Nodes, as their kubelets do.
func (h *history) setReady(status string, names ...string) {
	h.t.Helper()
	for _, name := range names {
		h.patch("Node", name, fmt.Sprintf(`{status: {conditions: [{type: Ready, status: "%s"}]}}`, status), "status")
	}
}

// apply creates or replaces an object.
func (h *history) apply(text string) {
	h.t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(h.t, yaml.Unmarshal([]byte(text), &obj.Object))
	_, err := h.sim.Cluster().Create(h.t.Context(), obj, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		stored, notFound := h.sim.Cluster().Get(h.t.Context(), obj.GroupVersionKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		require.NoError(h.t, notFound)
		obj.SetResourceVersion(stored.GetResourceVersion()) // Leases need it
		_, err = h.sim.Cluster().Update(h.t.Context(), obj, metav1.UpdateOptions{})
	}
	require.NoError(h.t, err)
}
