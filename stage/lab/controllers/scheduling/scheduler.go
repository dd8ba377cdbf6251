package scheduling

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Options of [Scheduler]. The zero value is the default.
type Options struct {
	// SchedulerName is the spec.schedulerName of the Pods that the scheduler takes. Default
	// "default-scheduler", which is also the name for Pods without one.
	SchedulerName string
	// Profile is which plugins decide. Default [DefaultProfile].
	Profile *Profile
	// Trace is called with each decision. Nil is off.
	Trace func(Decision)
}

// A Decision is the outcome of one cycle.
type Decision struct {
	Time time.Time
	Pod  types.NamespacedName
	// Node is where the Pod is to run, "" if it fits nowhere.
	Node string
	// Message is why it fits nowhere.
	Message string
	// Scores are the weighted scores of the compared Nodes, by plugin and Node. A plugin that does
	// not apply to the Pod is missing.
	Scores map[string]map[string]int64
	// NominatedNode is where room is made for the Pod, by the deletion of Victims.
	NominatedNode string
	Victims       []types.NamespacedName
}

const (
	defaultSchedulerName = "default-scheduler"
	controllerName       = "scheduler"
)

// Scheduler returns a controller that binds Pods to Nodes, one after another, as the plugins of its
// profile decide. A Pod that fits on no Node gets the condition PodScheduled=False with the reason.
// It is tried again after a change that can matter to the plugins that rejected it.
//
// Plugins find in the cache Nodes, Pods, Namespaces, Services, ReplicationControllers, ReplicaSets,
// StatefulSets, PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes, CSIDrivers,
// CSIStorageCapacities, VolumeAttachments,
// PriorityClasses and PodDisruptionBudgets.
//
// It writes spec.nodeName, which stage/memory takes and an API server refuses: there a scheduler
// runs anyway.
//
// The controller keeps state. Create a separate controller for each loop.
func Scheduler(o Options) reconcile.Controller {
	s := newScheduler(o)
	other := func(kind schema.GroupVersionKind) reconcile.Watch { return reconcile.Watch{Kind: kind, Map: s.onOther} }
	note := func(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
		s.failures.changed()
		return nil
	}
	unseen := func(kind schema.GroupVersionKind) reconcile.Watch { return reconcile.Watch{Kind: kind, Map: note} }
	return reconcile.Controller{
		Name: controllerName, Component: s.name, For: kinds.Pod,
		When:    func(reconcile.Change) bool { return false },
		Indexes: []*reconcile.Index{storage.Volumes},
		Watches: []reconcile.Watch{
			{Kind: kinds.Node, Map: s.onNode}, {Kind: kinds.Pod, Map: s.onPod},
			other(kinds.PersistentVolumeClaim), other(kinds.PersistentVolume), other(kinds.StorageClass),
			other(kinds.CSINode), other(kinds.CSIDriver), other(kinds.CSIStorageCapacity), other(kinds.VolumeAttachment), other(kinds.Namespace), other(kinds.PriorityClass),
			unseen(kinds.Service), unseen(kinds.ReplicationController), unseen(kinds.ReplicaSet),
			unseen(kinds.StatefulSet), unseen(kinds.PodDisruptionBudget),
		},
		Reconcile: s.reconcile,
	}
}

// podsPerReconcile is how many Pods are scheduled before other controllers have a turn. While Pods are
// left, the next turn has twice as many, so that controllers that look at all Pods of an object do so a
// few times and not for each hundred.
const podsPerReconcile = 100

// cycle is the only key of the scheduler.
var cycle = []types.NamespacedName{{Name: "cycle"}}

// A scheduler keeps the data of its cycles up to date: the Nodes with their Pods, and the queue.
type scheduler struct {
	*framework
	name    string
	trace   func(Decision)
	pods    map[types.NamespacedName]usedPod                    // that use a Node
	mine    map[types.NamespacedName]*unstructured.Unstructured // Pods that wait for this scheduler
	order   []*NodeInfo                                         // as Cycle.Nodes; nil if it has to be built again
	added   int                                                 // how many Nodes were added so far
	zones   zones
	queue   queue
	turn    int                // how many Pods are scheduled in the next turn
	changes []reconcile.Change // that the queue has not seen
	own     []reconcile.Change // by this scheduler, which it has not seen either
	binding bindings

	failures *failures
}

// A usedPod is a Pod and the Node that it uses.
type usedPod struct {
	info *PodInfo
	node *NodeInfo
}

func newScheduler(o Options) *scheduler {
	profile := DefaultProfile()
	if o.Profile != nil {
		profile = *o.Profile
	}
	return &scheduler{
		framework: newFramework(profile), name: cmp.Or(o.SchedulerName, defaultSchedulerName), trace: o.Trace,
		pods: map[types.NamespacedName]usedPod{}, mine: map[types.NamespacedName]*unstructured.Unstructured{},
		queue: newQueue(profile), failures: newFailures(profile), zones: zones{nodes: map[string]int{}},
	}
}

func (s *scheduler) changed(ch reconcile.Change) []types.NamespacedName {
	s.changes = append(s.changes, ch)
	return cycle
}

func (s *scheduler) onOther(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	s.failures.changed()
	if ch.Object().GetKind() == kinds.PersistentVolumeClaim.Kind {
		s.binding.claimChanged(control.NameOf(ch.Object()))
	}
	if len(s.queue.pods) == 0 && len(s.binding.pods) == 0 {
		return nil
	}
	return s.changed(ch)
}

func (s *scheduler) onNode(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	n := s.node(ch.Object().GetName())
	if !changesNode(ch) {
		n.Node = ch.New // a heartbeat
		return nil
	}
	s.failures.changed()
	zone, existed := n.zone, n.Node != nil
	n.setNode(ch.New)
	if existed && (n.Node == nil || zone != n.zone) {
		s.zones.leave(zone)
	}
	if n.Node != nil && (!existed || zone != n.zone) {
		s.zones.join(n.zone)
		s.added++
		n.added = s.added
	}
	if existed != (n.Node != nil) {
		s.order = nil // a Node that changes its zone alone does not change the order
	}
	if ch.New == nil && len(n.Pods) == 0 {
		delete(s.nodes, n.Name)
	}
	if len(s.queue.pods) == 0 {
		return nil
	}
	return s.changed(ch)
}

// node returns a Node, or creates a NodeInfo without an object: a Pod can name a Node that is not
// known yet.
func (s *scheduler) node(name string) *NodeInfo {
	n := s.nodes[name]
	if n == nil {
		n = &NodeInfo{Name: name, Requested: map[string]int64{}}
		s.nodes[name] = n
	}
	return n
}

// onPod counts the requests of Pods on their Nodes, and queues Pods without a Node.
func (s *scheduler) onPod(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	name := control.NameOf(ch.Object())
	s.binding.changed(name)
	s.account(c, name, ch)
	waits := ch.New != nil && s.isResponsibleFor(ch.New)
	if waits {
		s.mine[name] = ch.New
	} else {
		delete(s.mine, name)
		s.nominated.remove(name)
		if s.queue.pods[name] != nil {
			s.queue.remove(name)
		}
	}
	if waits || len(s.queue.pods) > 0 && freesOrTakes(ch) {
		return s.changed(ch)
	}
	return nil
}

// account takes in on which Node a Pod is.
func (s *scheduler) account(c *reconcile.Cache, name types.NamespacedName, ch reconcile.Change) {
	before, now := s.pods[name], usedNode(ch.New)
	if before.node != nil || now != "" {
		s.failures.changed()
	}
	if before.node != nil && before.node.Name == now && ch.Old.GetGeneration() == ch.New.GetGeneration() {
		before.node.updatePod(before.info, ch.New)
		return
	}
	if before.node != nil {
		before.node.RemovePod(before.info)
		delete(s.pods, name)
	}
	if now != "" {
		s.forget(name) // it is not only assumed
		used := usedPod{resolvedPodInfo(c, ch.New), s.node(now)}
		used.node.AddPod(used.info)
		s.pods[name] = used
	}
}

// freesOrTakes reports whether a change of a Pod matters to other Pods: it leaves its Node, comes
// to a Node, has other labels or requests, or gives up its nominated Node.
func freesOrTakes(ch reconcile.Change) bool {
	before, now := usedNode(ch.Old), usedNode(ch.New)
	return before != now || now != "" && !sameFields(ch.Old, ch.New, []string{"metadata", "labels"}, []string{"spec"}) || givesUpNomination(ch)
}

// givesUpNomination reports whether the Node that was nominated for a Pod that waits no longer is.
func givesUpNomination(ch reconcile.Change) bool {
	before := nominatedNode(ch.Old)
	return before != "" && before != nominatedNode(ch.New) && usedNode(ch.Old) == "" && usedNode(ch.New) == ""
}

// usedNode is the Node whose resources a Pod uses, or "".
func usedNode(pod *unstructured.Unstructured) string {
	if pod == nil || pods.Of(pod).IsTerminal() {
		return ""
	}
	return pods.Of(pod).NodeName()
}

// isResponsibleFor reports whether a Pod waits for this scheduler.
func (s *scheduler) isResponsibleFor(pod *unstructured.Unstructured) bool {
	p := pods.Of(pod)
	name := cmp.Or(fields.String(pod.Object, "spec", "schedulerName"), defaultSchedulerName)
	return p.NodeName() == "" && p.IsActive() && name == s.name && !hasSchedulingGates(pod)
}

func (s *scheduler) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	c := newCall(ctx, r)
	s.takeIn(c)
	s.queue.flush(c.Now)
	s.turn = max(s.turn, podsPerReconcile)
	for range s.turn {
		s.takeIn(c)
		if err := s.finishBindings(c); err != nil {
			return reconcile.Result{}, err
		}
		s.takeIn(c)
		queued := s.pop(c)
		if queued == nil {
			s.turn = podsPerReconcile
			return s.untilNext(c), nil
		}
		if err := s.scheduleOne(c, queued); err != nil {
			return reconcile.Result{}, err
		}
	}
	s.turn *= 2
	return reconcile.Result{After: 1}, nil
}

// untilNext returns how long to wait until work is due without a change.
func (s *scheduler) untilNext(c control.Call) reconcile.Result {
	next := s.queue.nextFlush()
	if at := s.nextBinding(c); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	if next.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{After: next.Sub(c.Now)}
}

// takeIn brings the queue up to date.
func (s *scheduler) takeIn(c control.Call) {
	changes := s.changes
	s.changes = nil
	for _, ch := range changes {
		isPod := ch.Object().GetKind() == kinds.Pod.Kind
		waits := isPod && ch.New != nil && s.isResponsibleFor(ch.New)
		if waits {
			s.takeInPod(c, ch)
		}
		switch {
		case waits && !givesUpNomination(ch):
		case isPod && ch.By == controllerName:
			s.own = append(s.own, ch)
		default:
			s.queue.changed(newClusterEvent(c.Cache, ch), c.Now)
		}
	}
}

// pop takes the next Pod from the queue. What the last cycle did to other Pods is seen when this one
// has begun, or while the scheduler is idle: kube-scheduler binds and deletes Pods in parallel.
func (s *scheduler) pop(c control.Call) *QueuedPodInfo {
	queued := s.queue.pop()
	for i, ch := range s.own {
		s.queue.changed(newClusterEvent(c.Cache, ch), c.Now)
		if own := s.queue.waiting[control.NameOf(ch.Object())]; own != nil {
			own.changes = s.queue.changes // for the Pod itself, this is not a change after which it is tried again
		}
		if queued == nil && (i == len(s.own)-1 || givesUpNomination(ch)) {
			queued = s.queue.pop()
		}
	}
	s.own = nil
	return queued
}

// takeInPod queues a Pod that waits, or takes in its new state.
func (s *scheduler) takeInPod(c control.Call, ch reconcile.Change) {
	name := control.NameOf(ch.New)
	pod := s.mine[name]
	if pod == nil || s.binding.pods[name] != nil {
		return
	}
	queued := s.queue.pods[name]
	if queued == nil || queued.Pod.GetUID() != pod.GetUID() {
		if queued != nil {
			s.queue.remove(name)
		}
		s.queue.add(resolvedPodInfo(c.Cache, pod), since(ch, c.Now))
		return
	}
	if ch.Old != nil && !sameFields(ch.Old, ch.New, []string{"spec"}, []string{"metadata", "labels"}) {
		queued.PodInfo = resolvedPodInfo(c.Cache, pod)
		s.nominated.update(queued.PodInfo)
		s.queue.updated(queued, ClusterEvent{Kind: kinds.Pod.Kind, Old: ch.Old, New: ch.New, Own: true}, c.Now)
		return
	}
	queued.setPod(pod)
}

// since is from when on a Pod counts as waiting: with scheduling gates, from its creation.
func since(ch reconcile.Change, now time.Time) time.Time {
	if ch.Old != nil && hasSchedulingGates(ch.Old) {
		return ch.Old.GetCreationTimestamp().Time
	}
	return now
}

// zones are the zones that have Nodes, in the order in which they came.
type zones struct {
	names []string
	nodes map[string]int
}

func (z *zones) join(zone string) {
	if z.nodes[zone]++; z.nodes[zone] == 1 {
		z.names = append(z.names, zone)
	}
}

func (z *zones) leave(zone string) {
	if z.nodes[zone]--; z.nodes[zone] == 0 {
		z.names = slices.DeleteFunc(z.names, func(name string) bool { return name == zone })
	}
}

// snapshot returns the Nodes in the order of kube-scheduler: one of each zone in turn, in the order
// in which zones and Nodes were added.
func (s *scheduler) snapshot() []*NodeInfo {
	if s.order != nil {
		return s.order
	}
	var all []*NodeInfo
	for _, n := range s.nodes {
		if n.Node != nil {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b *NodeInfo) int { return cmp.Compare(a.added, b.added) })
	byZone := map[string][]*NodeInfo{}
	for _, n := range all {
		byZone[n.zone] = append(byZone[n.zone], n)
	}
	for i := 0; len(s.order) < len(all); i++ {
		for _, zone := range s.zones.names {
			if i < len(byZone[zone]) {
				byZone[zone][i].at = len(s.order)
				s.order = append(s.order, byZone[zone][i])
			}
		}
	}
	return s.order
}
