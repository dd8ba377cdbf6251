package mcad

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	gangScheduler = "scheduler-plugins-scheduler"
	gangLabel     = "scheduling.x-k8s.io/pod-group"
	unscheduled   = " unscheduled" // no name of a Node
)

// Coscheduler returns a controller that binds the Pods of a PodGroup together. It binds
// spec.minMember of them when there is room for all these at once, and then each of the rest as
// room appears. It takes the Pods with schedulerName "scheduler-plugins-scheduler" and the label
// scheduling.x-k8s.io/pod-group. Each Pod gets the Node with the fewest Pods among the Nodes with
// room, and the first by name among equal ones. It ignores node affinity and taints: all Nodes are
// for all Pods.
func Coscheduler() reconcile.Controller {
	byNode := &reconcile.Index{Kind: pods, Value: nodeOf}
	return reconcile.Controller{
		Name: "coscheduler", For: podGroups,
		When:      func(reconcile.Change) bool { return false },
		Watches:   []reconcile.Watch{{Kind: podGroups, Map: cycle}, {Kind: pods, Map: cycle}, {Kind: nodes, Map: cycle}},
		Indexes:   []*reconcile.Index{byNode},
		Reconcile: (&coscheduler{byNode}).reconcile,
	}
}

// nodeOf returns the Node whose resources a Pod uses, unscheduled if it waits for this scheduler,
// "" if neither.
func nodeOf(pod *unstructured.Unstructured) string {
	node, phase := nested[string](pod.Object, "spec", "nodeName"), nested[string](pod.Object, "status", "phase")
	switch {
	case phase == "Succeeded" || phase == "Failed":
		return ""
	case node != "":
		return node
	case nested[string](pod.Object, "spec", "schedulerName") == gangScheduler && pod.GetDeletionTimestamp() == nil:
		return unscheduled
	}
	return ""
}

type coscheduler struct{ byNode *reconcile.Index }

func (s *coscheduler) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	gangs := s.gangs(r.Cache)
	if len(gangs) == 0 {
		return reconcile.Result{}, nil
	}
	infos := s.nodeInfos(r.Cache)
	for _, g := range gangs {
		for i, node := range place(g, infos) {
			if err := scheduling.Bind(ctx, r, g.pods[i], node); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	return reconcile.Result{}, nil
}

// A gang is the unscheduled Pods of a group, by name.
type gang struct {
	group *unstructured.Unstructured
	pods  []*unstructured.Unstructured
	least int // the number of Pods to bind at once
}

// gangs returns the gangs that have enough Pods, in the order in which their groups were created.
func (s *coscheduler) gangs(c *reconcile.Cache) []gang {
	byName := map[types.NamespacedName]*gang{}
	for _, pod := range c.By(s.byNode, unscheduled) {
		name := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[gangLabel]}
		if byName[name] == nil {
			group := c.Get(podGroups, name)
			if group == nil {
				continue // until it is there
			}
			byName[name] = &gang{group: group}
		}
		byName[name].pods = append(byName[name].pods, pod)
	}
	var found []gang
	for _, g := range byName {
		g.least = int(nested[int64](g.group.Object, "spec", "minMember")) - s.bound(c, g.group)
		if len(g.pods) >= g.least {
			found = append(found, *g)
		}
	}
	slices.SortFunc(found, func(a, b gang) int {
		ta, tb := a.group.GetCreationTimestamp(), b.group.GetCreationTimestamp()
		if d := ta.Compare(tb.Time); d != 0 {
			return d
		}
		return strings.Compare(nameOf(a.group).String(), nameOf(b.group).String())
	})
	return found
}

// bound counts the Pods of a group that have a Node.
func (s *coscheduler) bound(c *reconcile.Cache, group *unstructured.Unstructured) (n int) {
	for _, node := range c.List(nodes, "") {
		for _, pod := range c.By(s.byNode, node.GetName()) {
			if pod.GetNamespace() == group.GetNamespace() && pod.GetLabels()[gangLabel] == group.GetName() {
				n++
			}
		}
	}
	return n
}

// nodeInfos returns the Nodes that take Pods, by name, with the Pods that they have.
func (s *coscheduler) nodeInfos(c *reconcile.Cache) (infos []*scheduling.NodeInfo) {
	for _, node := range c.List(nodes, "") {
		if !scheduling.IsSchedulable(node) {
			continue
		}
		info := scheduling.NewNodeInfo(node)
		for _, pod := range c.By(s.byNode, info.Name) {
			info.AddPod(scheduling.NewPodInfo(pod))
		}
		infos = append(infos, info)
	}
	return infos
}

// place returns the Nodes of the first Pods of a gang, and adds the Pods to them. It returns no
// Nodes if there is no room for enough Pods.
func place(g gang, infos []*scheduling.NodeInfo) (names []string) {
	trial := make([]*scheduling.NodeInfo, len(infos))
	for i, info := range infos {
		trial[i] = info.Clone()
	}
	for _, pod := range g.pods {
		info := fewestPods(trial, scheduling.NewPodInfo(pod))
		if info == nil {
			break
		}
		info.AddPod(scheduling.NewPodInfo(pod))
		names = append(names, info.Name)
	}
	if len(names) < g.least {
		return nil
	}
	copy(infos, trial)
	return names
}

// fewestPods returns the Node with the fewest Pods among the Nodes with room for another Pod, or
// nil.
func fewestPods(infos []*scheduling.NodeInfo, pod *scheduling.PodInfo) (best *scheduling.NodeInfo) {
	for _, info := range infos {
		if scheduling.NodeResourcesFit(pod, info).Fits() && (best == nil || len(info.Pods) < len(best.Pods)) {
			best = info
		}
	}
	return best
}
