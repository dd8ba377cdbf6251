package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Lifecycle returns the controller that finds the Nodes whose heartbeats have stopped. It makes
// their conditions Unknown and their Pods not ready. It gives Nodes that are not ready the taint
// NoExecute not-ready or unreachable. In each zone it taints one Node every ten seconds. It taints
// fewer if many Nodes of a large zone are not ready, and none if no Node of any zone is ready.
func Lifecycle(o Options) reconcile.Controller {
	l := &lifecycle{options: o.withDefaults(), nodes: map[string]*nodeHealth{}, zones: map[string]*zone{}, registered: map[string]*unstructured.Unstructured{}, expiry: farAway}
	return reconcile.Controller{
		Name: "node-lifecycle", Component: "node-controller", For: kinds.Node, When: func(reconcile.Change) bool { return false },
		Watches: []reconcile.Watch{
			{Kind: kinds.Node, Map: l.nodeChanged},
			{Kind: kinds.Lease, Map: l.leaseChanged},
			{Kind: kinds.Pod, Map: l.podChanged},
		},
		Indexes:   []*reconcile.Index{pods.ByNode},
		Reconcile: l.reconcile,
	}
}

// all is the key of controllers that look at all Nodes or Pods.
var all = []types.NamespacedName{{Namespace: "all", Name: "all"}}

const leaseNamespace = "kube-node-lease"

// evictionPeriod is the time between two looks at the Nodes that wait for their taint.
const evictionPeriod = 100 * time.Millisecond

// A lifecycle is the state of the controller.
type lifecycle struct {
	options Options
	start   time.Time // of the first pass
	passed  time.Time // the last pass
	nodes   map[string]*nodeHealth
	zones   map[string]*zone
	sorted  []*zone // by name; a new zone is missing

	registered map[string]*unstructured.Unstructured // references of the Nodes of the last pass

	changed []string               // names of the Nodes that have changed since the last call
	bound   []types.NamespacedName // Pods that were bound to Nodes that are not ready
	wanted  bool                   // a pass has something to do
	expiry  time.Time              // no grace period ends before
}

func (l *lifecycle) nodeChanged(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	l.changed = append(l.changed, ch.Object().GetName())
	return all
}

func (l *lifecycle) leaseChanged(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.Object().GetNamespace() != leaseNamespace || ch.New == nil {
		return nil
	}
	l.changed = append(l.changed, ch.New.GetName())
	return all
}

// podChanged looks for Pods that were bound to a Node that was not ready in the last pass.
func (l *lifecycle) podChanged(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.New == nil {
		return nil
	}
	node := pods.Of(ch.New).NodeName()
	known := l.nodes[node]
	if known == nil || known.ready == "True" || known.ready == "" || ch.Old != nil && pods.Of(ch.Old).NodeName() == node {
		return nil
	}
	l.bound = append(l.bound, control.NameOf(ch.New))
	return all
}

func (l *lifecycle) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	c := control.NewCall(ctx, r)
	if l.start.IsZero() {
		l.start = c.Now
	}
	l.observeChanged(c)
	if err := l.markBound(c); err != nil {
		return reconcile.Result{}, err
	}
	if l.passIsDue(c.Now) {
		if err := l.pass(c); err != nil {
			return reconcile.Result{}, err
		}
		l.passed, l.wanted = c.Now, false
		l.findExpiry()
	}
	for _, z := range l.sortedZones() {
		if err := z.taintNext(c, l.start); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{After: l.next(c.Now)}, nil
}

// observeChanged takes in heartbeats, as the next pass would see them.
func (l *lifecycle) observeChanged(c control.Call) {
	seen := tick(l.start, c.Now, l.options.MonitorPeriod)
	for _, name := range l.changed {
		node := c.Cache.Get(kinds.Node, named(name))
		h := l.nodes[name]
		switch {
		case node == nil:
			l.wanted = l.wanted || h != nil // its Event
		case h == nil || h.uid != node.GetUID():
			l.wanted = true
		default:
			h.observe(node, leaseOf(c, name), seen)
			l.wanted = l.wanted || l.concerns(node, h)
			l.expiry = earlier(l.expiry, h.expires(l.options))
		}
	}
	l.changed = l.changed[:0]
}

// concerns reports whether a change of a Node gives a pass something to do.
func (l *lifecycle) concerns(node *unstructured.Unstructured, h *nodeHealth) bool {
	status := readyOf(node).Field("status")
	return status != "True" || status != h.ready || zoneOf(node) != h.zone || l.troubled() ||
		hasTaint(node, notReadyKey, noExecute) || hasTaint(node, unreachableKey, noExecute)
}

// troubled reports whether a zone is disrupted, or Nodes of it wait for their taint.
func (l *lifecycle) troubled() bool {
	for _, z := range l.zones {
		if z.state == fullDisruption || z.state == partialDisruption || len(z.waiting) > 0 {
			return true
		}
	}
	return false
}

func leaseOf(c control.Call, node string) *unstructured.Unstructured {
	return c.Cache.Get(kinds.Lease, types.NamespacedName{Namespace: leaseNamespace, Name: node})
}

// markBound makes the Pods not ready that were bound to Nodes that are not.
func (l *lifecycle) markBound(c control.Call) error {
	bound := l.bound
	l.bound = nil
	for _, name := range bound {
		pod := c.Cache.Get(kinds.Pod, name)
		if pod == nil || c.Cache.Get(kinds.Node, named(pods.Of(pod).NodeName())) == nil {
			continue
		}
		if err := markNotReady(c, pod); err != nil {
			return err
		}
	}
	return nil
}

// passIsDue reports whether a pass is due now that has work to do.
func (l *lifecycle) passIsDue(now time.Time) bool {
	if now.Equal(l.passed) || !tick(l.start, now, l.options.MonitorPeriod).Equal(now) {
		return false
	}
	if !l.wanted && !now.Before(l.nextExpiry()) {
		l.findExpiry()
	}
	return l.wanted || !now.Before(l.nextExpiry())
}

// nextExpiry is the first pass that can find a Node whose heartbeats have stopped, or farAway.
func (l *lifecycle) nextExpiry() time.Time {
	if l.expiry.Equal(farAway) {
		return farAway
	}
	return tick(l.start, l.expiry.Add(1), l.options.MonitorPeriod)
}

// findExpiry finds when the next grace period ends. Heartbeats only make that later, so that it need
// not be done for each of them.
func (l *lifecycle) findExpiry() {
	l.expiry = farAway
	for _, h := range l.nodes {
		l.expiry = earlier(l.expiry, h.expires(l.options))
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// farAway is a time that does not come.
var farAway = time.Unix(1<<40, 0)

// next returns after which time the controller has something to do without a change.
func (l *lifecycle) next(now time.Time) time.Duration {
	next := l.nextExpiry()
	if l.wanted {
		next = tick(l.start, now.Add(1), l.options.MonitorPeriod)
	}
	for _, z := range l.zones {
		next = earlier(next, z.nextTaint(l.start))
	}
	if next.Equal(farAway) {
		return 0
	}
	return max(next.Sub(now), 1)
}

// pass looks at all Nodes.
func (l *lifecycle) pass(c control.Call) error {
	all := c.Cache.List(kinds.Node, "")
	l.registerNew(c, all)
	l.forgetMissing(c, all)
	ready := map[string][]bool{}
	for _, node := range all {
		status, err := l.passNode(c, node)
		if err != nil {
			return err
		}
		if fields.Value(node.Object, "metadata", "labels", "node.kubernetes.io/exclude-disruption") == nil {
			ready[zoneOf(node)] = append(ready[zoneOf(node)], status == "True")
		}
	}
	return l.handleDisruption(c, ready)
}

// registerNew records that Nodes are new. A Node that is older than the controller is not: the cluster
// is restored from a backup, in which the Node was registered.
func (l *lifecycle) registerNew(c control.Call, all []*unstructured.Unstructured) {
	for _, node := range all {
		name := node.GetName()
		if l.registered[name] != nil {
			continue
		}
		l.registered[name] = reference(node)
		if created := node.GetCreationTimestamp(); !created.Time.Before(l.start.Truncate(time.Second)) {
			c.Record(l.registered[name], "Normal", "RegisteredNode", fmt.Sprintf("Node %s event: Registered Node %s in Controller", name, name))
		}
	}
}

// forgetMissing forgets Nodes that are gone, and the heartbeats of Nodes that were deleted and
// created again.
func (l *lifecycle) forgetMissing(c control.Call, all []*unstructured.Unstructured) {
	there := make(map[string]types.UID, len(all))
	for _, node := range all {
		there[node.GetName()] = node.GetUID()
	}
	for _, name := range slices.Sorted(maps.Keys(l.registered)) {
		if _, ok := there[name]; !ok {
			c.Record(l.registered[name], "Normal", "RemovingNode", fmt.Sprintf("Node %s event: Removing Node %s from Controller", name, name))
			delete(l.registered, name)
		}
	}
	for name, h := range l.nodes {
		if there[name] != h.uid {
			delete(l.nodes, name)
		}
	}
}

// reference returns the object that Events of a Node or Pod are about: an object without its
// version.
func reference(obj *unstructured.Unstructured) *unstructured.Unstructured {
	ref := &unstructured.Unstructured{}
	ref.SetGroupVersionKind(obj.GroupVersionKind())
	ref.SetNamespace(obj.GetNamespace())
	ref.SetName(obj.GetName())
	ref.SetUID(obj.GetUID())
	return ref
}

// passNode brings one Node in line, and returns the status of its condition Ready.
func (l *lifecycle) passNode(c control.Call, node *unstructured.Unstructured) (status string, err error) {
	z := l.zoneOf(node)
	h := l.nodes[node.GetName()]
	if h == nil {
		h = newNodeHealth(node, c.Now, l.options.RequireHeartbeats)
		l.nodes[node.GetName()] = h
		if node, err = z.markReachable(c, node); err != nil {
			return "", err
		}
	}
	h.observe(node, leaseOf(c, node.GetName()), c.Now)
	wasReady := h.ready == "True" || readyOf(node).IsTrue()
	if node, err = h.expire(c, node, l.options); err != nil {
		return "", err
	}
	h.zone, h.ready = z.name, readyOf(node).Field("status")
	if h.ready == "" {
		return "", nil
	}
	if h.ready == "Unknown" && wasReady {
		c.Record(reference(node), "Normal", "NodeNotReady", fmt.Sprintf("Node %s status is now: NodeNotReady", node.GetName()))
		for _, pod := range c.Cache.By(pods.ByNode, node.GetName()) {
			if err := markNotReady(c, pod); err != nil {
				return "", err
			}
		}
	}
	return h.ready, z.update(c, node, h.ready)
}

func markNotReady(c control.Call, pod *unstructured.Unstructured) error {
	changed, err := setReady(c, pods.Of(pod), "False")
	if changed {
		c.Record(pod, "Warning", "NodeNotReady", "Node is not ready")
	}
	return err
}
