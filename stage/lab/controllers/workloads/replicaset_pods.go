package workloads

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
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

// replicaPods are the Pods of a ReplicaSet or ReplicationController. They are a [podSet].
type replicaPods struct {
	podCounts
	templateLabels map[string]any
	active         candidates
	onNode         map[string]int // how many active Pods each Node has
}

func newReplicaPods(owner *unstructured.Unstructured) *replicaPods {
	return &replicaPods{
		templateLabels: templateLabels(owner),
		active:         candidates{at: map[types.UID]int{}}, onNode: map[string]int{},
	}
}

func templateLabels(owner *unstructured.Unstructured) map[string]any {
	return fields.Map(owner.Object, "spec", "template", "metadata", "labels")
}

func (t *replicaPods) add(p pods.Pod) {
	t.podCounts.add(p, t.templateLabels, 1)
	if p.IsActive() {
		t.active.add(p)
		t.onNode[p.NodeName()]++
	}
}

func (t *replicaPods) remove(p pods.Pod) {
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

// count returns the Pods of an owner. They are counted again if the labels of the template have
// changed.
func count(c control.Call, owner *unstructured.Unstructured, t tracker[*replicaPods]) (podCounts, error) {
	uid := owner.GetUID()
	if known, ok := t.of(uid); ok && !object.DeepEqual(known.templateLabels, templateLabels(owner)) {
		delete(t, uid)
	}
	counted, err := t.claim(c, owner, pods.ClaimActive, func() *replicaPods { return newReplicaPods(owner) })
	return counted.podCounts, err
}

// candidatesOf returns the active Pods of an owner. The list must not be changed.
func candidatesOf(owner *unstructured.Unstructured, t tracker[*replicaPods]) []*pods.Candidate {
	if known, ok := t.of(owner.GetUID()); ok {
		return known.active.all
	}
	return nil
}

// onNodes returns how many active Pods of several owners each Node has. An owner that is not
// tracked is new and has no Pods.
func onNodes(owners []*unstructured.Unstructured, t tracker[*replicaPods]) map[string]int {
	sum := map[string]int{}
	for _, owner := range owners {
		if known, ok := t.of(owner.GetUID()); ok {
			for node, n := range known.onNode {
				sum[node] += n
			}
		}
	}
	return sum
}
