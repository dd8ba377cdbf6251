package scheduling_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers"
	"github.com/stagecraft-go/stagecraft/stage/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// binPacker returns a scheduler that fills one Node after another: each Pod gets the Node with the
// least CPU left of those that it may run on.
func binPacker() reconcile.Controller {
	byNode := &reconcile.Index{Kind: podKind, Value: func(pod *unstructured.Unstructured) string {
		node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		return node
	}}
	always := func(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
		return []types.NamespacedName{{Name: "all Pods"}} // one key: every change may make room
	}
	return reconcile.Controller{
		Name: "bin-packer", For: podKind,
		When:    func(reconcile.Change) bool { return false },
		Watches: []reconcile.Watch{{Kind: podKind, Map: always}, {Kind: nodeKind, Map: always}},
		Indexes: []*reconcile.Index{byNode},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			for _, pod := range r.Cache.By(byNode, "") {
				name, _, _ := unstructured.NestedString(pod.Object, "spec", "schedulerName")
				if name != "bin-packer" || scheduling.IsPodTerminal(pod) {
					continue
				}
				node := fullest(r.Cache, byNode, scheduling.NewPodInfo(pod))
				if node == "" {
					continue
				}
				if err := scheduling.Bind(ctx, r, pod, node); err != nil {
					return reconcile.Result{}, err
				}
			}
			return reconcile.Result{}, nil
		},
	}
}

// fullest returns the Node with the least free CPU of those that pass the filters, "" for none.
func fullest(c *reconcile.Cache, byNode *reconcile.Index, pod *scheduling.PodInfo) (best string) {
	var least int64
	for _, obj := range c.List(nodeKind, "") {
		node := scheduling.NewNodeInfo(obj)
		for _, other := range c.By(byNode, node.Name) {
			if !scheduling.IsPodTerminal(other) {
				node.AddPod(other)
			}
		}
		free := node.Free()["cpu"]
		if scheduling.RunFilters(pod, node).Fits() && (best == "" || free < least) {
			best, least = node.Name, free
		}
	}
	return best
}

const nodesAndPods = `
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: bin-packer
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
`

// A scheduler of your own is a controller that asks the filters, chooses a Node, and binds. It runs
// beside the one of this package, which leaves Pods with another schedulerName alone.
func Example() {
	ctx := context.Background()
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodFast()), simulation.Options{
		Controllers: append(controllers.All(controllers.Options{}), binPacker()),
		Filter:      controllers.Bound,
	})
	if err == nil {
		err = sim.Cluster().Load(ctx, []byte(nodesAndPods))
	}
	if err == nil {
		err = sim.Advance(ctx, time.Minute)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, _ := sim.Cluster().List(ctx, podKind, "", metav1.ListOptions{})
	on := map[string]int{}
	for _, pod := range pods.Items {
		node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		on[node]++
	}
	fmt.Println(on)
	// Output:
	// map[a:4 b:1]
}
