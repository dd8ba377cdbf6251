package controllers_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A Deployment becomes ready on a Node of a simulation, whose Pods and Nodes are played by Stages.
func ExampleAll() {
	ctx := context.Background()
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodGeneral()), simulation.Options{
		Controllers: controllers.All(controllers.Options{}),
		Filter:      controllers.Bound, // Pods run only when they have a Node
		Kubelet:     nodes.KubeletRuns, // that works
	})
	if err != nil {
		panic(err)
	}
	err = sim.Cluster().Load(ctx, []byte(`
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`))
	if err != nil {
		panic(err)
	}
	for range 2 {
		deployment, err := sim.Cluster().Get(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, types.NamespacedName{Namespace: "default", Name: "web"})
		if err != nil {
			panic(err)
		}
		fmt.Println(kstatus.Compute(deployment).Status)
		if err := sim.Advance(ctx, time.Minute); err != nil {
			panic(err)
		}
	}
	// Output:
	// InProgress
	// Current
}
