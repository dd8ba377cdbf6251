package nodes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// TaintEviction returns the controller that deletes the Pods that do not tolerate the taints
// NoExecute of their Node. It deletes a Pod at once, or when the shortest tolerationSeconds of the
// matching tolerations have passed since it saw the taints.
func TaintEviction() reconcile.Controller {
	e := &evictions{nodes: map[string]*evictedNode{}}
	return reconcile.Controller{
		Name: "taint-eviction", Component: "taint-eviction-controller", For: kinds.Node,
		When:      func(ch reconcile.Change) bool { return !sameTaints(ch) },
		Watches:   []reconcile.Watch{{Kind: kinds.Pod, Map: e.nodeOfPod}},
		Indexes:   []*reconcile.Index{pods.ByNode},
		Reconcile: e.reconcile,
	}
}

func sameTaints(ch reconcile.Change) bool {
	return ch.Old != nil && ch.New != nil && equalTaints(noExecuteOf(ch.Old), noExecuteOf(ch.New))
}

func equalTaints(a, b []map[string]any) bool {
	return slices.EqualFunc(a, b, func(a, b map[string]any) bool { return object.DeepEqual(a, b) })
}

func noExecuteOf(node *unstructured.Unstructured) (found []map[string]any) {
	for _, t := range fields.Maps(node.Object, "spec", "taints") {
		if fields.String(t, "effect") == noExecute {
			found = append(found, t)
		}
	}
	return found
}

// nodeOfPod returns the tainted Node of a Pod that is new there, has other tolerations, or is gone.
func (e *evictions) nodeOfPod(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	name := named(pods.Of(ch.Object()).NodeName())
	if name.Name == "" || ch.Old != nil && ch.New != nil && pods.Of(ch.Old).NodeName() == name.Name && sameTolerations(ch.Old, ch.New) {
		return nil
	}
	if known := e.nodes[name.Name]; ch.New == nil && known != nil && known.isScheduled(ch.Old) {
		return []types.NamespacedName{name} // even if its Node is gone
	}
	if node := c.Get(kinds.Node, name); node == nil || len(taintsOf(node, noExecute)) == 0 {
		return nil
	}
	return []types.NamespacedName{name}
}

func sameTolerations(a, b *unstructured.Unstructured) bool {
	return object.DeepEqual(fields.Slice(a.Object, "spec", "tolerations"), fields.Slice(b.Object, "spec", "tolerations"))
}

// evictions are the Nodes with taints NoExecute.
type evictions struct{ nodes map[string]*evictedNode }

// An evictedNode is a Node with taints NoExecute.
type evictedNode struct {
	taints []map[string]any
	pods   map[types.UID]*eviction
}

func (n *evictedNode) isScheduled(pod *unstructured.Unstructured) bool {
	p := n.pods[pod.GetUID()]
	return p != nil && p.scheduled
}

// An eviction is the knowledge about a Pod of a tainted Node.
type eviction struct {
	pod       *unstructured.Unstructured // as it was looked at last
	scheduled bool                       // it will be deleted, at a time
	at        time.Time
}

func (e *evictions) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	c := control.NewCall(ctx, r)
	node := r.Cache.Get(kinds.Node, r.Name)
	if node == nil {
		// the Pods that are scheduled are still deleted, unless the garbage collector is faster
		return e.deleteDue(c, r.Name.Name)
	}
	raw, taints := noExecuteOf(node), taintsOf(node, noExecute)
	if len(taints) == 0 {
		e.cancelAll(c, r.Name.Name)
		return reconcile.Result{}, nil
	}
	known := e.nodes[r.Name.Name]
	if known == nil {
		known = &evictedNode{pods: map[types.UID]*eviction{}}
		e.nodes[r.Name.Name] = known
	}
	changed := !equalTaints(known.taints, raw)
	known.taints = raw
	for _, pod := range r.Cache.By(pods.ByNode, node.GetName()) {
		if p := known.pods[pod.GetUID()]; p == nil || changed || !sameTolerations(p.pod, pod) {
			known.schedule(c, pod, taints)
		}
	}
	return e.deleteDue(c, r.Name.Name)
}

// cancelAll keeps the Pods of a Node without taints.
func (e *evictions) cancelAll(c control.Call, name string) {
	if known := e.nodes[name]; known != nil {
		for _, p := range known.sorted() {
			p.cancel(c)
		}
	}
	delete(e.nodes, name)
}

// sorted returns the evictions in the order of the names of their Pods.
func (n *evictedNode) sorted() []*eviction {
	return slices.SortedFunc(maps.Values(n.pods), func(a, b *eviction) int {
		return cmp.Or(cmp.Compare(a.pod.GetNamespace(), b.pod.GetNamespace()), cmp.Compare(a.pod.GetName(), b.pod.GetName()))
	})
}

// cancel keeps a Pod that was scheduled for deletion.
func (p *eviction) cancel(c control.Call) {
	if p.scheduled {
		p.scheduled = false
		record(c, p.pod, "Cancelling deletion of Pod ")
	}
}

// record records an Event about a Pod by its name, without its uid.
func record(c control.Call, pod *unstructured.Unstructured, message string) {
	ref := reference(pod)
	ref.SetUID("")
	c.Record(ref, "Normal", "TaintManagerEviction", message+control.NameOf(pod).String())
}

// schedule decides when a Pod is deleted. An earlier time stays as long as the Pod must still be
// deleted.
func (n *evictedNode) schedule(c control.Call, pod *unstructured.Unstructured, taints []taint) {
	p := n.pods[pod.GetUID()]
	if p == nil {
		p = &eviction{}
		n.pods[pod.GetUID()] = p
	}
	p.pod = pod
	after, forEver, tolerated := toleratedFor(pod, taints)
	switch {
	case !tolerated:
		p.cancel(c)
		p.scheduled, p.at = true, c.Now
	case forEver:
		p.cancel(c)
	case !p.scheduled:
		p.scheduled, p.at = true, c.Now.Add(after)
	}
}

// deleteDue deletes the Pods of a Node whose time has come.
func (e *evictions) deleteDue(c control.Call, name string) (result reconcile.Result, err error) {
	known := e.nodes[name]
	if known == nil {
		return result, nil
	}
	there := map[types.UID]bool{}
	for _, pod := range c.Cache.By(pods.ByNode, name) {
		there[pod.GetUID()] = true
		p := known.pods[pod.GetUID()]
		switch {
		case p == nil || !p.scheduled:
		case p.at.After(c.Now):
			result.After = control.Sooner(result.After, p.at.Sub(c.Now))
		default:
			if err := evict(c, pods.Of(pod)); err != nil {
				return result, err
			}
			p.scheduled = false
		}
	}
	for _, p := range known.sorted() {
		if uid := p.pod.GetUID(); !there[uid] {
			p.cancel(c)
			delete(known.pods, uid)
		}
	}
	return result, nil
}

func evict(c control.Call, pod pods.Pod) error {
	const message = "Taint manager: deleting due to NoExecute taint"
	record(c, pod.Unstructured, "Marking for deletion Pod ")
	if err := disrupt(c, pod, "DeletionByTaintManager", message, ""); err != nil {
		return err
	}
	return c.Delete(pod.Unstructured)
}

// disrupt writes the condition DisruptionTarget of a Pod, and its phase unless that is "".
func disrupt(c control.Call, pod pods.Pod, reason, message, phase string) error {
	list := conditions.Of(pod.Unstructured)
	next := conditions.New("DisruptionTarget", "True", reason, message, c.Timestamp())
	if old := list.Find("DisruptionTarget"); old != nil {
		if old.Field("reason") == reason && phase == "" {
			return nil
		}
		if old.IsTrue() {
			next["lastTransitionTime"] = old["lastTransitionTime"]
		}
	}
	next["lastProbeTime"] = nil
	if generation := pod.GetGeneration(); generation != 0 {
		next["observedGeneration"] = generation
	}
	return writeConditions(c, pod, list.Replace(next), phase)
}
