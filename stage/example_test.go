package stage_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const readyStage = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: NotIn, values: [Running]}
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}
  next:
    statusTemplate: |
      phase: Running
      startTime: {{ Now | Quote }}
`

func ExampleSet_Next() {
	set, err := stage.Compile(stage.Options{}, stage.Parse("ready.yaml", []byte(readyStage)))
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := newPod("web", "")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t, ok := set.Next(pod, now, 1, 0)
	fmt.Println(ok, t)
	effects, err := t.Effects(pod, t.Due)
	fmt.Println(effects, err)
	// Output:
	// true Pod default/web: stage "pod-ready" due 00:00:03.418157797
	// [patch strategic /status {"status":{"phase":"Running","startTime":"2026-01-01T00:00:03.418157797Z"}}] <nil>
}

func ExampleCompile_errors() {
	_, err := stage.Compile(stage.Options{}, stage.Parse("ready.yaml", []byte(`apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: '.status.phase ||', operator: In}
  delay:
    durationFrom: {cel: {expression: duration(slf.spec.d)}}
  next:
    statusTemplate: |
      phase: Running
      podIP: {{ PodIp }}
`)))
	fmt.Println(err)
	// Output:
	// ready.yaml:8:7: stage "pod-ready": spec.selector.matchExpressions[0].values: In needs at least one value
	// ready.yaml:8:29: stage "pod-ready": spec.selector.matchExpressions[0].key: unexpected token "|" at line 1, column 16 of the program
	// ready.yaml:10:47: stage "pod-ready": spec.delay.durationFrom.cel.expression: undeclared reference to 'slf'
	// ready.yaml:14:17: stage "pod-ready": spec.next.statusTemplate: function "PodIp" not defined
}

func ExampleSet_Candidates() {
	set, err := stage.Compile(stage.Options{}, presets.PodGeneral(), presets.PodChaos())
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := pendingPod()
	for _, c := range set.Candidates(pod, time.Now()) {
		fmt.Printf("%s: weight %d, probability %.4f, delay %s\n", c.Stage, c.Weight, c.Probability, c.Delay)
	}
	// Output:
	// pod-ready: weight 1, probability 0.0001, delay [1s, 5s)
	// pod-init-container-running-failed: weight 10000, probability 0.9999, delay 1s
}

// Why does nothing happen? The Pod waits for what an init container would do.
func ExampleSet_Explain() {
	set, err := stage.Compile(stage.Options{}, stage.Parse("ready.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ready
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
    - {key: '.status.conditions[] | select(.type == "Initialized") | .status', operator: NotIn, values: ["True"]}
    - cel: {expression: self.spec.nodeName == self.status.node}
`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(set.Explain(pendingPod(), time.Now()))
	// Output:
	// Pod default/web: nothing happens: no stage matches; closest, 2 requirements short: "pod-ready"
	//
	// ✗ "pod-ready", at ready.yaml:5:9
	//   ✓ .status.phase In [Pending]: saw "Pending"
	//   ✗ .status.conditions[] | select(.type == "Initialized") | .status NotIn [True]: saw "True" (spec.selector.matchExpressions[1], at ready.yaml:11:7)
	//   ✗ self.spec.nodeName == self.status.node: saw "node", nothing; failed: no such key: node (spec.selector.matchExpressions[2].cel.expression, at ready.yaml:12:25)
}

// pendingPod is a pod that is being started, and that asks for trouble.
func pendingPod() *unstructured.Unstructured {
	pod := newPod("web", "")
	pod.SetLabels(map[string]string{"pod-init-container-running-failed.stage.kwok.x-k8s.io": "true"})
	pod.Object["status"] = map[string]any{"phase": "Pending", "podIP": "10.0.0.2", "conditions": []any{map[string]any{"type": "Initialized", "status": "True"}}}
	return pod
}

// The loop that every simulator has: the caller owns the objects and the time.
func ExampleEngine() {
	set, err := stage.Compile(stage.Options{}, stage.Parse("ready.yaml", []byte(readyStage)))
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ctx := context.Background()
	cluster := memory.New(memory.Options{Now: func() time.Time { return now }})
	engine := stage.NewEngine(set, stage.EngineOptions{Seed: 42})
	objects := map[stage.Key]*unstructured.Unstructured{}
	observe := func(obj *unstructured.Unstructured) {
		objects[stage.KeyOf(obj)] = obj
		if err := engine.Observe(obj, now); err != nil {
			fmt.Println(err)
		}
	}
	for i := range 3 {
		obj, err := cluster.Create(ctx, newPod(fmt.Sprintf("web-%d", i), ""), metav1.CreateOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		observe(obj)
	}
	for at, ok := engine.NextDue(); ok; at, ok = engine.NextDue() {
		now = at
		for t := range engine.Due(now) {
			obj, err := player.Do(ctx, cluster, t, objects[t.Key], player.DoOptions{Now: now})
			fmt.Println(now.Format("05.000"), t.Key, t.Stage, err)
			observe(obj)
		}
	}
	// Output:
	// 02.112 Pod default/web-1 pod-ready <nil>
	// 02.829 Pod default/web-2 pod-ready <nil>
	// 04.695 Pod default/web-0 pod-ready <nil>
}
