package scheduling_test

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/controllers/scheduling"
)

// gangs is a filter: the Pods of a gang, which a label names, are bound only if all of them fit at
// once, and together with what runs stay within the CPU quota of their namespace.
type gangs struct {
	size  int
	quota resources.Amounts
}

func (gangs) Name() string { return "Gangs" }

func gangOf(p *scheduling.PodInfo) string { return p.Pod.GetLabels()["gang"] }

// PreFilter tries to place as many Pods like this one as the gang still needs, on copies of the Nodes.
func (g gangs) PreFilter(c *scheduling.Cycle) scheduling.Status {
	used, bound, trial := resources.Amounts{}, 0, []*scheduling.NodeInfo{}
	for _, n := range c.Nodes {
		trial = append(trial, n.Clone())
		for _, p := range n.Pods {
			if p.Pod.GetNamespace() == c.Pod.Pod.GetNamespace() {
				used.Add(p.Requests, 1)
			}
			if gangOf(p) == gangOf(c.Pod) {
				bound++
			}
		}
	}
	missing := g.size - bound
	used.Add(c.Pod.Requests, int64(missing))
	if !g.quota.Covers(resources.Amounts{"cpu": used["cpu"]}) {
		return scheduling.Status{Reasons: []string{"the gang exceeds the quota"}, Unresolvable: true}
	}
	for _, n := range trial {
		for missing > 0 && scheduling.NodeResourcesFit(c.Pod, n).Fits() {
			n.AddPod(c.Pod)
			missing--
		}
	}
	if missing > 0 {
		return scheduling.Status{Reasons: []string{fmt.Sprintf("no room for %d Pods of the gang", missing)}, Unresolvable: true}
	}
	return scheduling.Status{}
}

// QueueingHint has a gang tried again when something comes free: not when another Pod is bound.
func (gangs) QueueingHint(_ *scheduling.PodInfo, e scheduling.ClusterEvent) bool {
	return e.NewPod == nil
}

// Less keeps the Pods of a gang together.
func (gangs) Less(a, b *scheduling.QueuedPodInfo) bool { return gangOf(a.PodInfo) < gangOf(b.PodInfo) }

const threeGangs = `
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", pods: "10"}}}
`

func gangPods(name string, cpu int) (text string) {
	const pod = `
---
apiVersion: v1
kind: Pod
metadata: {name: %s-%d, labels: {gang: %s}}
spec: {schedulerName: gangs, containers: [{name: c, image: i, resources: {requests: {cpu: "%d"}}}]}
`
	for i := range 3 {
		text += fmt.Sprintf(pod, name, i, name, cpu)
	}
	return text
}

// Gangs of three Pods: the first fits, the second would exceed the quota of 10 CPUs, and for the third
// one no room is left.
func Example_gangWithQuota() {
	profile := scheduling.DefaultProfile()
	g := gangs{size: 3, quota: resources.Amounts{"cpu": 10_000}}
	profile.Plugins = append([]scheduling.Plugin{g}, profile.Plugins...)
	play(threeGangs+gangPods("one", 1)+gangPods("three", 3)+gangPods("two", 2), scheduling.Options{
		SchedulerName: "gangs", Profile: &profile,
		Trace: func(d scheduling.Decision) {
			message, _, _ := strings.Cut(d.Message, ".")
			fmt.Println(d.Pod.Name + ": " + d.Node + message)
		},
	})
	// Output:
	// one-0: a
	// one-1: b
	// one-2: a
	// three-0: 0/2 nodes are available: the gang exceeds the quota
	// three-1: 0/2 nodes are available: the gang exceeds the quota
	// three-2: 0/2 nodes are available: the gang exceeds the quota
	// two-0: 0/2 nodes are available: no room for 1 Pods of the gang
	// two-1: 0/2 nodes are available: no room for 1 Pods of the gang
	// two-2: 0/2 nodes are available: no room for 1 Pods of the gang
	// map[:6 a:2 b:1]
}

// wholeDevices is a score that avoids fragments: it prefers the Node whose idle GPUs are used up best.
type wholeDevices struct{}

func (wholeDevices) Name() string { return "WholeDevices" }

// Score is how much less is idle on Nodes that could still take a large Pod of 4 GPUs: 100 if the Pod
// breaks nothing up, 0 if it leaves a fragment where a large Pod had room.
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
