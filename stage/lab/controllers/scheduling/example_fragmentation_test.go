package scheduling_test

import "github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"

// wholeDevices is a score that avoids fragments: it prefers the Node whose idle GPUs are used up best.
type wholeDevices struct{}

func (wholeDevices) Name() string { return "WholeDevices" }

// Score rates how little idle capacity is lost for a large Pod of 4 GPUs. It is 100 if the Pod
// breaks nothing up, and 0 if it leaves a fragment where a large Pod had room.
func (wholeDevices) Score(c *scheduling.Cycle, n *scheduling.NodeInfo) int64 {
	const large = 4
	before := n.Free()["nvidia.com/gpu"]
	after := before - c.Pod.Requests["nvidia.com/gpu"]
	return 100 - 100*(before/large-after/large)
}

const gpuNodes = `
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "64", pods: "10", nvidia.com/gpu: "4"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "64", pods: "10", nvidia.com/gpu: "6"}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: small}
spec:
  replicas: 2
  selector: {matchLabels: {app: small}}
  template:
    metadata: {labels: {app: small}}
    spec:
      schedulerName: whole
      containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
`

// The small Pods go where no room for a large one is lost.
func Example_fragmentation() {
	profile := scheduling.DefaultProfile()
	profile.Plugins = append(profile.Plugins, wholeDevices{})
	profile.Weights["WholeDevices"] = 10
	play(gpuNodes, scheduling.Options{SchedulerName: "whole", Profile: &profile})
	// Output:
	// map[b:2]
}
