package workloads

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// podCounts are how many Pods an owner has.
type podCounts struct {
	active      int64 // Pods that count as replicas
	labelled    int64 // active Pods with all labels of the template
	ready       int64 // active Pods that are ready
	waiting     int64 // active Pods that wait for a Node
	terminating int64 // Pods that are being deleted and are not terminal
}

// add counts a Pod; times is -1 to take it away.
func (n *podCounts) add(p pods.Pod, templateLabels map[string]any, times int64) {
	switch {
	case p.IsTerminal():
	case p.IsTerminating():
		n.terminating += times
	default:
		n.active += times
		n.labelled += times * one(selectors.HasLabels(fields.Map(p.Object, "metadata", "labels"), templateLabels))
		n.ready += times * one(p.IsReady())
		n.waiting += times * one(p.IsWaiting())
	}
}

// trackedPods are the Pods of one owner, kept up to date by their changes.
type trackedPods struct {
	podCounts
	selector       selectors.Selector
	templateLabels map[string]any
	active         candidates
	onNode         map[string]int // how many active Pods each Node has
	counting       bool           // they are being claimed; a change by others meanwhile causes another claim
}

func newTrackedPods(owner *unstructured.Unstructured) *trackedPods {
	return &trackedPods{
		selector: selectors.Of(owner), templateLabels: templateLabels(owner),
		active: candidates{at: map[types.UID]int{}}, onNode: map[string]int{},
	}
}

func templateLabels(owner *unstructured.Unstructured) map[string]any {
	return fields.Map(owner.Object, "spec", "template", "metadata", "labels")
}

func (t *trackedPods) add(p pods.Pod) {
	t.podCounts.add(p, t.templateLabels, 1)
	if p.IsActive() {
		t.active.add(p)
		t.onNode[p.NodeName()]++
	}
}

func (t *trackedPods) remove(p pods.Pod) {
	t.podCounts.add(p, t.templateLabels, -1)
	if p.IsActive() {
		t.active.remove(p.GetUID())
		t.onNode[p.NodeName()]--
	}
}

// candidates are Pods that the controller may delete, in an order that depends only on the order of
// the calls. With a sort in each call, the deletion of all Pods one by one would cost more than the
// square of their number.
type candidates struct {
	all []*pods.Candidate
	at  map[types.UID]int // places in all
}

func (c *candidates) add(p pods.Pod) {
	uid := p.GetUID()
	c.remove(uid)
	c.at[uid] = len(c.all)
	c.all = append(c.all, pods.CandidateOf(p))
}

// remove replaces the Pod that goes with the last Pod.
func (c *candidates) remove(uid types.UID) {
	i, ok := c.at[uid]
	if !ok {
		return
	}
	last := len(c.all) - 1
	c.all[i] = c.all[last]
	c.at[types.UID(c.all[i].UID())] = i
	c.all[last] = nil
	c.all = c.all[:last]
	delete(c.at, uid)
}

// A podTracker has the Pods of owners, by the uid of the owner. So the cost of a reconcile depends
// on what has changed, not on how many Pods the owner has. An owner is not tracked if it is new or
// if it must adopt or release Pods. Its Pods are then claimed and counted again.
type podTracker map[types.UID]*trackedPods

// count returns how many Pods an owner has.
func (t podTracker) count(c control.Call, owner *unstructured.Unstructured) (podCounts, error) {
	uid := owner.GetUID()
	if tracked := t[uid]; tracked != nil && object.DeepEqual(tracked.templateLabels, templateLabels(owner)) {
		return tracked.podCounts, nil
	}
	tracked := newTrackedPods(owner)
	tracked.counting = true
	t[uid] = tracked
	claimed, err := pods.ClaimActive(c, owner)
	if t[uid] != tracked || err != nil { // adoptions take time; a change during them brings the key back
		delete(t, uid)
		return counted(owner, claimed).podCounts, err
	}
	t[uid] = counted(owner, claimed)
	return t[uid].podCounts, nil
}

// counted returns the Pods of an owner.
func counted(owner *unstructured.Unstructured, claimed []pods.Pod) *trackedPods {
	tracked := newTrackedPods(owner)
	for _, p := range claimed {
		tracked.add(p)
	}
	return tracked
}

// candidates returns the active Pods of an owner. The list must not be changed.
func (t podTracker) candidates(owner *unstructured.Unstructured) []*pods.Candidate {
	tracked := t[owner.GetUID()]
	if tracked == nil {
		return nil
	}
	return tracked.active.all
}

// onNodes returns how many active Pods of several owners each Node has. An owner that is not
// tracked is new and has no Pods.
func (t podTracker) onNodes(owners []*unstructured.Unstructured) map[string]int {
	sum := map[string]int{}
	for _, owner := range owners {
		if tracked := t[owner.GetUID()]; tracked != nil {
			for node, n := range tracked.onNode {
				sum[node] += n
			}
		}
	}
	return sum
}

// watches keep the Pods of the owners of a kind up to date.
func (t podTracker) watches(controller string, owner schema.GroupVersionKind) []reconcile.Watch {
	owners := control.OwnersBySelector(owner)
	return []reconcile.Watch{
		{Kind: owner, Map: t.onOwner},
		{Kind: kinds.Pod, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			t.onPod(c, owners, ch, ch.By == controller)
			return nil
		}},
	}
}

func (t podTracker) onOwner(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.Old != nil && (ch.New == nil || ch.New.GetUID() != ch.Old.GetUID()) {
		delete(t, ch.Old.GetUID())
	}
	return nil
}

func (t podTracker) onPod(c *reconcile.Cache, owners *reconcile.SelectorIndex, ch reconcile.Change, own bool) {
	if ch.Old != nil {
		t.update(ch.Old, own, (*trackedPods).remove)
	}
	if ch.New == nil {
		return
	}
	if control.HasController(ch.New) {
		t.update(ch.New, own, (*trackedPods).add)
		return
	}
	for _, owner := range c.Selecting(owners, ch.New) { // they have to adopt it
		delete(t, owner.GetUID())
	}
}

// update adds a Pod to the Pods of its owner, or removes it. If the owner does not select the Pod,
// the owner must release it. The controller's own writes while Pods are counted are adoptions and
// releases.
func (t podTracker) update(pod *unstructured.Unstructured, own bool, do func(*trackedPods, pods.Pod)) {
	uid := control.ControllerUID(pod)
	tracked := t[uid]
	switch {
	case tracked == nil || tracked.counting && own:
	case tracked.counting || !tracked.selector.Matches(pod):
		delete(t, uid)
	default:
		do(tracked, pods.Of(pod))
	}
}
