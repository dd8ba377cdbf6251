package scheduling_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// fullestNode is a score: it prefers the Node with the least CPU left.
type fullestNode struct{}

func (fullestNode) Name() string { return "FullestNode" }

func (fullestNode) Score(c *scheduling.Cycle, n *scheduling.NodeInfo) int64 {
	return 100 - 100*n.Free()["cpu"]/n.Allocatable["cpu"]
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

// A scheduler of your own is a profile: the plugins of kube-scheduler, with your own filters and
// scores. It runs together with the default scheduler, which leaves Pods with another schedulerName
// alone.
func Example() {
	profile := scheduling.DefaultProfile()
	profile.Plugins = append(profile.Plugins, fullestNode{})
	profile.Weights["FullestNode"] = 100
	play(nodesAndPods, scheduling.Options{SchedulerName: "bin-packer", Profile: &profile})
	// Output:
	// map[a:4 b:1]
}

// play runs a scheduler together with the other controllers for a minute, and runs another minute
// for each text of later objects. It prints how many Pods each Node has.
func play(objects string, o scheduling.Options, later ...string) {
	ctx := context.Background()
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodFast()), simulation.Options{
		Hooks:       []memory.Hooks{admission.Hooks()},
		Controllers: append(controllers.All(controllers.Options{}), scheduling.Scheduler(o)),
		Filter:      controllers.Bound,
	})
	for _, text := range append([]string{objects}, later...) {
		if err == nil {
			err = sim.Cluster().Load(ctx, []byte(text))
		}
		if err == nil {
			err = sim.Advance(ctx, time.Minute)
		}
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
}
