package scheduler

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const gpu = "example.com/gpu"

var nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// owners adds objects that make the scheduler spread Pods by default.
func (g *generator) owners() {
	selector := map[string]string{"app": "a"}
	meta := metav1.ObjectMeta{Name: "a", Namespace: "default"}
	switch g.IntN(6) {
	case 0:
		g.add(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: selector}})
	case 1:
		g.add(&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}}})
	case 2:
		g.add(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}}})
	case 3:
		g.add(&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: selector}})
	}
}

// own gives a Pod an owner, which may exist.
func (g *generator) own(p *corev1.Pod) {
	if g.one(2) {
		return
	}
	yes := true
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: draw(g, "ReplicaSet", "StatefulSet", "ReplicationController"), Name: "a", UID: "a", Controller: &yes}
	if owner.Kind == "ReplicationController" {
		owner.APIVersion = "v1"
	}
	p.OwnerReferences = []metav1.OwnerReference{owner}
}

// play draws the changes: mostly Pods that come a second apart, and then a long time without
// changes.
func (g *generator) play() {
	at, pods := 500*time.Millisecond, 0
	next := func(s step) {
		s.at = at
		g.steps = append(g.steps, s)
		at += time.Second
	}
	eventful := g.one(2)
	for range 4 + g.IntN(9) {
		if eventful && len(g.pods) > 0 && g.one(3) {
			next(g.event())
		}
		next(step{create: g.pod(fmt.Sprintf("new%d", pods))})
		pods++
	}
	if g.one(3) {
		at += 10 * time.Second
		next(g.event())
		at += time.Duration(100+g.IntN(400)) * time.Second
		next(g.event())
		at += 400 * time.Second
	}
	g.length = at
}

// event draws something that may matter to Pods that wait.
func (g *generator) event() step {
	pod := draw(g, g.pods...)
	node := types.NamespacedName{Name: fmt.Sprintf("n%d", g.IntN(g.nodes))}
	change := func(kind schema.GroupVersionKind, name types.NamespacedName, patch string) step {
		return step{kind: kind, namespace: name.Namespace, name: name.Name, patch: strings.ReplaceAll(patch, "'", `"`)}
	}
	if g.mounts && g.one(3) {
		return g.volumeEvent()
	}
	switch g.IntN(9) {
	case 0, 1:
		return change(podKind, pod, "")
	case 2:
		return step{create: g.node()}
	case 3:
		return change(nodeKind, node, fmt.Sprintf("{'spec': {'unschedulable': %v}}", g.one(3)))
	case 4:
		return change(nodeKind, node, draw(g, "{'spec': {'taints': null}}", "{'spec': {'taints': [{'key': 'gpu', 'value': 'yes', 'effect': 'NoSchedule'}]}}"))
	case 5:
		return change(nodeKind, node, fmt.Sprintf("{'metadata': {'labels': {'%s': '%s'}}}", draw(g, "disk", "topology.kubernetes.io/zone"), draw(g, "ssd", "x", "y")))
	case 6:
		return change(nodeKind, node, fmt.Sprintf("{'status': {'allocatable': {'cpu': '%d', 'memory': '%dGi', 'example.com/gpu': '2'}}}", 2+g.IntN(6), 2+g.IntN(8)))
	case 7:
		return change(podKind, pod, fmt.Sprintf("{'metadata': {'labels': {'app': '%s'}}}", draw(g, "a", "b")))
	}
	return change(podKind, pod, draw(g, "{'spec': {'schedulingGates': null}}", "{'spec': {'tolerations': [{'key': 'gpu', 'operator': 'Exists'}, {'key': 'more', 'operator': 'Exists'}]}}"))
}
