package scheduling_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
)

// gangs is a scheduler for gangs. A label of a Pod names its gang. A gang is bound only if all its Pods fit
// at once, within the CPU quota of their namespace. Gangs of higher priority preempt whole other gangs.
type gangs struct {
	size  int
	quota resources.Amounts
}

func (gangs) Name() string { return "Gangs" }

func gangOf(p *scheduling.PodInfo) string { return p.Pod.GetLabels()["gang"] }

// PreFilter is against a Pod unless all Pods that its gang still needs fit.
func (g gangs) PreFilter(c *scheduling.Cycle) scheduling.Status {
	if _, reason := g.place(c, nil); reason != "" {
		return scheduling.Status{Reasons: []string{reason}, Unresolvable: true}
	}
	return scheduling.Status{}
}

// place tries to place as many Pods like the Pod of the cycle as its gang still needs. It works on
// copies of the Nodes, without the Pods of some gangs. It returns the Node of the first Pod, or the
// reason for the failure.
func (g gangs) place(c *scheduling.Cycle, without []string) (first, reason string) {
	used, missing, trial := resources.Amounts{}, g.size, []*scheduling.NodeInfo{}
	for _, n := range c.Nodes {
		n = n.Clone()
		trial = append(trial, n)
		for _, p := range slices.Clone(n.Pods) {
			switch {
			case slices.Contains(without, gangOf(p)):
				n.RemovePod(p)
				continue
			case gangOf(p) == gangOf(c.Pod):
				missing--
			}
			if p.Pod.GetNamespace() == c.Pod.Pod.GetNamespace() {
				used.Add(p.Requests, 1)
			}
		}
	}
	used.Add(c.Pod.Requests, int64(missing))
	if !g.quota.Covers(resources.Amounts{"cpu": used["cpu"]}) {
		return "", "the gang exceeds the quota"
	}
	for _, n := range trial {
		for missing > 0 && scheduling.NodeResourcesFit(c.Pod, n).Fits() {
			n.AddPod(c.Pod)
			missing--
			first = cmp.Or(first, n.Name)
		}
	}
	if missing > 0 {
		return "", fmt.Sprintf("no room for %d Pods of the gang", missing)
	}
	return first, ""
}

// PostFilter preempts gangs of lower priority, the lowest first, until there is room.
func (g gangs) PostFilter(c *scheduling.Cycle) (found scheduling.PostFilterResult) {
	var lower []*scheduling.PodInfo
	for _, n := range c.Nodes {
		for _, p := range n.Pods {
			if gangOf(p) != "" && p.Priority < c.Pod.Priority {
				lower = append(lower, p)
			}
		}
	}
	slices.SortStableFunc(lower, func(a, b *scheduling.PodInfo) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(gangOf(a), gangOf(b)))
	})
	var victims []string
	for i, p := range lower {
		found.Victims = append(found.Victims, p)
		if i+1 < len(lower) && gangOf(lower[i+1]) == gangOf(p) {
			continue // the whole gang
		}
		victims = append(victims, gangOf(p))
		if node, reason := g.place(c, victims); reason == "" {
			found.Node = node
			return found
		}
	}
	return scheduling.PostFilterResult{Reasons: []string{"no gangs of lower priority make room"}}
}

// QueueingHint schedules another try of a gang when a resource becomes free, but not when another
// Pod is bound.
func (gangs) QueueingHint(_ *scheduling.PodInfo, e scheduling.ClusterEvent) bool {
	return e.NewPod == nil
}

// Less puts the gangs of high priority first, and keeps the Pods of a gang together.
func (gangs) Less(a, b *scheduling.QueuedPodInfo) bool {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(gangOf(a.PodInfo), gangOf(b.PodInfo))) < 0
}

func gang(name string, cpu, priority int) (text string) {
	for i := range 3 {
		text += fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-%[2]d, labels: {gang: %[1]s}}
spec: {schedulerName: gangs, priority: %[4]d, containers: [{name: c, image: i, resources: {requests: {cpu: "%[3]d"}}}]}
`, name, i, cpu, priority)
	}
	return text
}

// Gangs of three Pods on 8 CPUs. The first gang fits, the second would exceed the quota of 10 CPUs,
// and the third has no room left. An urgent gang preempts the first one.
func Example_gangsWithQuotaAndPreemption() {
	const nodes = `
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", pods: "10"}}}
`
	g := gangs{size: 3, quota: resources.Amounts{"cpu": 10_000}}
	profile := scheduling.DefaultProfile()
	profile.Plugins = append([]scheduling.Plugin{g}, profile.Plugins...)
	o := scheduling.Options{SchedulerName: "gangs", Profile: &profile, Trace: func(d scheduling.Decision) {
		message, _, _ := strings.Cut(d.Message, ".")
		if strings.HasSuffix(d.Pod.Name, "-0") { // the others fare alike
			fmt.Println(d.Pod.Name+":", d.Node+message+",", len(d.Victims), "victims")
		}
	}}
	play(nodes+gang("one", 1, 0)+gang("three", 3, 0)+gang("two", 2, 0), o)
	play(nodes+gang("one", 1, 0), o, gang("urgent", 2, 10))
	// Output:
	// one-0: a, 0 victims
	// three-0: 0/2 nodes are available: the gang exceeds the quota, 0 victims
	// two-0: 0/2 nodes are available: no room for 1 Pods of the gang, 0 victims
	// map[:6 a:2 b:1]
	// one-0: a, 0 victims
	// urgent-0: 0/2 nodes are available: no room for 1 Pods of the gang, 3 victims
	// urgent-0: b, 0 victims
	// map[a:2 b:1]
}
