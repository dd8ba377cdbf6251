package oracle

import (
	"context"
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

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	nodeKind  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
)

// ours plays a scenario with our controllers. Nodes have the names that rename gives them.
type ours struct {
	t       testing.TB
	sim     *simulation.Simulation
	s       scenario
	rename  map[string]string
	history *history
	start   time.Time
	stopped map[string]bool
}

func playOurs(t testing.TB, s scenario, rename map[string]string) []string {
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	o := nodes.Options{MonitorPeriod: monitorPeriod, GCPeriod: gcPeriod, Quarantine: quarantine}
	sim, err := simulation.New(set, simulation.Options{Start: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Controllers: []reconcile.Controller{
		nodes.ConditionTaints(), nodes.Lifecycle(o), nodes.TaintEviction(), nodes.PodGC(o),
	}})
	require.NoError(t, err)
	p := &ours{t: t, sim: sim, s: s, rename: rename, history: newHistory(), start: sim.Now(), stopped: map[string]bool{}}
	p.play()
	return p.history.lines()
}

func (p *ours) name(node string) string {
	if to, ok := p.rename[node]; ok {
		return to
	}
	return node
}

func (p *ours) play() {
	for _, kind := range []schema.GroupVersionKind{nodeKind, podKind} {
		require.NoError(p.t, p.sim.On(kind, p.note))
	}
	require.NoError(p.t, p.sim.Cluster().Load(context.Background(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease}}")))
	for i, n := range p.s.nodes {
		p.create(nodeKind, newNode(p.name(n.name), n.zone))
		for at := leaseOffset(i); at < p.s.length; at += leasePeriod {
			p.at(at, func() { p.renew(n.name) })
		}
	}
	for _, pod := range p.s.pods {
		pod.node = p.name(pod.node)
		p.create(podKind, newPod(pod))
	}
	for _, step := range p.s.steps {
		p.at(step.at, func() { p.do(step) })
	}
	require.NoError(p.t, p.sim.Advance(context.Background(), p.s.length))
}

func (p *ours) at(d time.Duration, do func()) {
	p.sim.At(p.start.Add(d), func(context.Context) error {
		do()
		return nil
	})
}

func (p *ours) note(_ context.Context, e watch.Event) error {
	obj := e.Object.(*unstructured.Unstructured)
	name := obj.GetName()
	for from, to := range p.rename {
		if to == name && obj.GetKind() == "Node" {
			name = from
			break
		}
	}
	state := describe(obj.Object)
	if e.Type == watch.Deleted {
		state = "gone"
	}
	p.history.note(p.sim.Now().Sub(p.start), obj.GetKind()+" "+name, state)
	return nil
}

// create creates an object, whose times are those of the simulation.
func (p *ours) create(kind schema.GroupVersionKind, obj any) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(p.t, err)
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(u.Object, "metadata", "uid")
	p.setTimes(u)
	data, err := u.MarshalJSON()
	require.NoError(p.t, err)
	require.NoError(p.t, p.sim.Cluster().Load(context.Background(), data))
}

func (p *ours) setTimes(u *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, v := range conditions {
		for _, field := range []string{"lastHeartbeatTime", "lastTransitionTime"} {
			if c := v.(map[string]any); c[field] != nil {
				c[field] = p.sim.Now().UTC().Format(time.RFC3339)
			}
		}
	}
	_ = unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions")
}

func (p *ours) renew(node string) {
	if p.stopped[node] {
		return
	}
	now := p.sim.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"renewTime": now}}}
	u.SetGroupVersionKind(leaseKind)
	u.SetName(p.name(node))
	u.SetNamespace("kube-node-lease")
	_, err := p.sim.Cluster().Create(context.Background(), u, metav1.CreateOptions{})
	if err != nil {
		stored, notFound := p.sim.Cluster().Get(context.Background(), leaseKind, types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
		require.NoError(p.t, notFound)
		u.SetResourceVersion(stored.GetResourceVersion())
		_, err = p.sim.Cluster().Update(context.Background(), u, metav1.UpdateOptions{})
	}
	require.NoError(p.t, err)
}

func (p *ours) do(s step) {
	ctx, name := context.Background(), types.NamespacedName{Name: p.name(s.node)}
	switch s.do {
	case "stop", "start":
		p.stopped[s.node] = s.do == "stop"
		if s.do == "start" {
			p.renew(s.node)
			p.post(name, corev1.ConditionTrue)
		}
	case "unready":
		p.post(name, corev1.ConditionFalse)
	case "ready":
		p.post(name, corev1.ConditionTrue)
	case "delete":
		_ = p.sim.Cluster().Delete(ctx, nodeKind, name, metav1.DeleteOptions{})
	case "create":
		if _, err := p.sim.Cluster().Get(ctx, nodeKind, name); err != nil {
			p.create(nodeKind, newNode(name.Name, p.s.zone(s.node)))
		}
	}
}

// post writes the condition Ready of a Node, unless it is gone or its kubelet is stopped.
func (p *ours) post(name types.NamespacedName, status corev1.ConditionStatus) {
	node, err := p.sim.Cluster().Get(context.Background(), nodeKind, name)
	if err != nil || p.stopped[p.original(name.Name)] {
		return
	}
	now := p.sim.Now().UTC().Format(time.RFC3339)
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, v := range conditions {
		if c := v.(map[string]any); c["type"] == "Ready" {
			c["status"], c["reason"], c["lastHeartbeatTime"], c["lastTransitionTime"] = string(status), "Kubelet", now, now
			delete(c, "message")
		}
	}
	require.NoError(p.t, unstructured.SetNestedSlice(node.Object, conditions, "status", "conditions"))
	_, err = p.sim.Cluster().Update(context.Background(), node, metav1.UpdateOptions{}, "status")
	require.NoError(p.t, err)
}

func (p *ours) original(name string) string {
	for from, to := range p.rename {
		if to == name {
			return from
		}
	}
	return name
}
