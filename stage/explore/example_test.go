package explore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

const rocket = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: lift-off}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  weight: 9
  delay: {durationMilliseconds: 10000, jitterDurationMilliseconds: 20000}
  next: {statusTemplate: "phase: Running"}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: scrub}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  weight: 1
  next: {statusTemplate: "phase: Failed"}
---
apiVersion: v1
kind: Pod
metadata: {name: rocket}
`

func Example() {
	source := stage.Parse("rocket.yaml", []byte(rocket))
	graph, err := explore.Explore(context.Background(), stage.MustCompile(source), explore.Options{}, source.OtherObjects()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(graph)

	running, err := explore.ParseTarget("phase=Running")
	if err != nil {
		fmt.Println(err)
		return
	}
	times, err := graph.TimeTo(running, explore.TimeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f%% get there, half of them within %s, %.0f%% of all within 12s\n",
		100*times.Reach, times.Quantile(0.5), 100*times.By(12*time.Second))
	// Output:
	// 0 Pending (start)
	//   lift-off 90% 10s–20s → 1
	//     .status.phase: Pending → Running
	//   scrub 10% at once → 2
	//     .status.phase: Pending → Failed
	// 1 Running
	// 2 Failed
	// ends in: 1 Running; 2 Failed
	// left to chance in: 0 Pending
	// 90% get there, half of them within 15s, 18% of all within 12s
}
