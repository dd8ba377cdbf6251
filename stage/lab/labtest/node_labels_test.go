package labtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// Nodes of a lab have the labels that a kubelet and a cloud provider set, so that charts that select
// nodes by them run.
func TestNodesHaveLabels(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	require.Equal(t, map[string]string{
		"kubernetes.io/hostname": "node-2", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "lab",
		"topology.kubernetes.io/region": "lab", "topology.kubernetes.io/zone": "lab-a",
	}, lab.Get("v1", "Node", "node-2").GetLabels())

	lab.Apply(`
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {
  metadata: {labels: {app: agent}}, spec: {nodeSelector: {kubernetes.io/os: linux}, containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {
  metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}], affinity: {podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}}}}`)
	lab.WaitCurrent()
	require.Len(t, lab.List("v1", "Pod", "app=agent"), 3)
	on := map[string]bool{}
	for _, pod := range lab.List("v1", "Pod", "app=web") {
		node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		on[node] = true
	}
	require.Len(t, on, 3)
}

// The labels that a test gives a Node stay.
func TestNodesKeepTheirLabels(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: -1})
	lab.Apply(`{apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/arch: arm64, topology.kubernetes.io/zone: mine}}}`)
	node := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "b"}}}
	_, err := lab.Cluster().Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)
	a, b := lab.Get("v1", "Node", "a").GetLabels(), lab.Get("v1", "Node", "b").GetLabels()
	require.Equal(t, []string{"arm64", "linux", "mine", "a"}, []string{a["kubernetes.io/arch"], a["kubernetes.io/os"], a["topology.kubernetes.io/zone"], a["kubernetes.io/hostname"]})
	require.Equal(t, []string{"amd64", "", "b"}, []string{b["kubernetes.io/arch"], b["topology.kubernetes.io/zone"], b["kubernetes.io/hostname"]})

	stages := labtest.New(t, labtest.Options{OnlyStages: true, Nodes: 1})
	stages.Apply(`{apiVersion: v1, kind: Node, metadata: {name: a}}`)
	require.Empty(t, stages.Get("v1", "Node", "a").GetLabels(), "no kubelet sets them")
	require.Len(t, stages.Get("v1", "Node", "node-1").GetLabels(), 8)
}
