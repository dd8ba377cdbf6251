package stages_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// A cluster plays its own Stages, including Stages that are created later. With kube.NewForConfig
// instead of memory.New it is a real cluster.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := memory.New(memory.Options{})
	_ = cluster.Load(ctx, []byte(stages.Definition()))
	_ = cluster.Load(ctx, []byte("{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {containers: [{name: a, image: a}]}}"))

	done := make(chan error)
	go func() {
		done <- stages.Play(ctx, cluster, player.Options{}, stages.Options{
			Trace: func(v stages.VersionStatus) { fmt.Println(v.Stage, v.Accepted(), v.Faults) },
		})
	}()
	_ = cluster.Load(ctx, []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{cel: {expression: "self.status.phase == 'Pending'"}}]}
  steps: [{patch: {subresource: status, root: status, template: "phase: Running"}}]
`))

	pods, _ := cluster.Watch(ctx, podKind, "default", metav1.ListOptions{})
	for e := range pods.ResultChan() {
		phase, _, _ := unstructured.NestedString(e.Object.(*unstructured.Unstructured).Object, "status", "phase")
		if phase == "Running" {
			fmt.Println("the Pod is", phase)
			stop()
		}
	}
	fmt.Println(<-done)
	// Output:
	// pod-ready true []
	// the Pod is Running
	// context canceled
}
