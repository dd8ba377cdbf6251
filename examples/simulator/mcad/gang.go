package mcad

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/requests"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	gangScheduler = "scheduler-plugins-scheduler"
	gangLabel     = "scheduling.x-k8s.io/pod-group"
	waiting       = " waiting" // no name of a node
)

// Coscheduler returns a controller that binds the Pods of a PodGroup together: when there is room
// for spec.minMember of them at once, and then for each of the rest as room appears. It takes the
// Pods whose schedulerName is "scheduler-plugins-scheduler", with label
// scheduling.x-k8s.io/pod-group. Each goes to the node with the fewest Pods of those that have
// room, by name if there are several. Node affinity and taints are not looked at: all nodes are for
// all Pods.
func Coscheduler() reconcile.Controller {
	places := &reconcile.Index{Kind: pods, Value: placeOf}
	return reconcile.Controller{
		Name: "coscheduler", For: podGroups,
		When:      func(reconcile.Change) bool { return false },
		Watches:   []reconcile.Watch{{Kind: podGroups, Map: cycle}, {Kind: pods, Map: cycle}, {Kind: nodes, Map: cycle}},
		Indexes:   []*reconcile.Index{places},
		Reconcile: (&coscheduler{places}).reconcile,
	}
}

// placeOf is where a Pod uses something, waiting if it waits for this scheduler, "" if neither.
func placeOf(pod *unstructured.Unstructured) string {
	phase, node := nested[string](pod.Object, "status", "phase"), nested[string](pod.Object, "spec", "nodeName")
	switch {
	case phase == "Succeeded" || phase == "Failed":
		return ""
	case node != "":
		return node
	case nested[string](pod.Object, "spec", "schedulerName") == gangScheduler && pod.GetDeletionTimestamp() == nil:
		return waiting
	}
	return ""
}

type coscheduler struct{ places *reconcile.Index }

func (s *coscheduler) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	gangs := s.gangs(r.Cache)
	if len(gangs) == 0 {
		return reconcile.Result{}, nil
	}
	rooms := s.rooms(r.Cache)
	for _, g := range gangs {
		for i, node := range place(g, rooms) {
			if err := bind(ctx, r, g.pods[i], node); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	return reconcile.Result{}, nil
}

// A gang is the Pods of a group that wait, by name.
type gang struct {
	group *unstructured.Unstructured
	pods  []*unstructured.Unstructured
	least int // how many have to be bound at once
}

// gangs are those that wait and are complete enough, those that were created first first.
func (s *coscheduler) gangs(c *reconcile.Cache) []gang {
	byName := map[types.NamespacedName]*gang{}
	for _, pod := range c.By(s.places, waiting) {
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

// bound counts the Pods of a group that have a node.
func (s *coscheduler) bound(c *reconcile.Cache, group *unstructured.Unstructured) (n int) {
	for _, node := range c.List(nodes, "") {
		for _, pod := range c.By(s.places, node.GetName()) {
			if pod.GetNamespace() == group.GetNamespace() && pod.GetLabels()[gangLabel] == group.GetName() {
				n++
			}
		}
	}
	return n
}

// A room is what is free on a node.
type room struct {
	node string
	free requests.Amounts
	pods int
}

func (s *coscheduler) rooms(c *reconcile.Cache) []room {
	var rooms []room
	for _, n := range c.List(nodes, "") {
		r := room{node: n.GetName(), free: allocatable(n)}
		for _, pod := range c.By(s.places, r.node) {
			r.free.Add(requested(pod.Object), -1)
			r.pods++
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// place returns nodes for the first Pods of a gang, none if there are too few, and takes their
// room.
func place(g gang, rooms []room) (names []string) {
	trial := make([]room, len(rooms))
	for i, r := range rooms {
		trial[i] = room{r.node, requests.Amounts{}, r.pods}
		trial[i].free.Add(r.free, 1)
	}
	for _, pod := range g.pods {
		need := requested(pod.Object)
		best := emptiest(trial, need)
		if best == nil {
			break
		}
		best.free.Add(need, -1)
		best.pods++
		names = append(names, best.node)
	}
	if len(names) < g.least {
		return nil
	}
	copy(rooms, trial)
	return names
}

// emptiest is the room with the fewest Pods of those with enough free.
func emptiest(rooms []room, need requests.Amounts) (best *room) {
	for i := range rooms {
		if r := &rooms[i]; covers(r.free, need) && (best == nil || r.pods < best.pods) {
			best = r
		}
	}
	return best
}

// bind gives a Pod its node, as controllers.Scheduler does.
func bind(ctx context.Context, r reconcile.Request, pod *unstructured.Unstructured, node string) error {
	scheduled := map[string]any{"type": "PodScheduled", "status": "True", "lastProbeTime": nil, "lastTransitionTime": r.Now.UTC().Format(time.RFC3339)}
	binding, err := json.Marshal(map[string]any{"spec": map[string]any{"nodeName": node}})
	if err != nil {
		return err
	}
	told, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{scheduled}}})
	if err != nil {
		return err
	}
	if _, err := r.Client.Patch(ctx, pods, nameOf(pod), types.MergePatchType, binding, metav1.PatchOptions{}); err != nil {
		return ignoreNotFound(err)
	}
	_, err = r.Client.Patch(ctx, pods, nameOf(pod), types.StrategicMergePatchType, told, metav1.PatchOptions{}, "status")
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
