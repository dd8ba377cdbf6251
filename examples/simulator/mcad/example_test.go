package mcad_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// The shortest Job goes first. How long it is says an annotation of its AppWrapper.
func ExampleQueue() {
	length := func(w *unstructured.Unstructured) time.Duration {
		d, _ := time.ParseDuration(w.GetAnnotations()["length"])
		return d
	}
	queue := mcad.Queue(mcad.QueueOptions{Before: func(a, b *unstructured.Unstructured) bool { return length(a) < length(b) }})
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), stage.Parse("minute.yaml", []byte(minute))), simulation.Options{
		Kinds: mcad.Kinds(), Filter: controllers.Bound, Controllers: append(queue, batch.Jobs(), scheduling.Scheduler(scheduling.Options{})),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := sim.Now()
	err = sim.On(jobs, func(_ context.Context, e watch.Event) error {
		if e.Type == watch.Added {
			fmt.Println(e.Object.(*unstructured.Unstructured).GetName(), "after", sim.Now().Sub(start))
		}
		return nil
	})
	cluster := `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {gpu: "8", pods: "10"}}}`
	for _, name := range []string{"running 0s", "long 1h", "short 1m", "middle 5m"} {
		name, length, _ := strings.Cut(name, " ")
		cluster += fmt.Sprintf("\n---\n"+`{apiVersion: mcad.ibm.com/v1beta1, kind: AppWrapper, metadata: {name: %s, annotations: {length: %s}},
  spec: {resources: {GenericItems: [{generictemplate: {apiVersion: batch/v1, kind: Job, metadata: {name: %[1]s}, spec: {template: {spec: {
    restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {gpu: 8}}}]}}}}}]}}}`, name, length)
	}
	if err == nil {
		err = sim.Cluster().Load(context.Background(), []byte(cluster))
	}
	if err == nil {
		err = sim.Advance(context.Background(), time.Hour)
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// running after 0s
	// short after 1m0s
	// middle after 2m0s
	// long after 3m0s
}
