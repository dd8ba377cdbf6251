package scheduling

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Options of [Scheduler]. The zero value is the default.
type Options struct {
	// SchedulerName is the spec.schedulerName of the Pods that the scheduler takes. Default
	// "default-scheduler", which is also the name of Pods that have none.
	SchedulerName string
}

const defaultSchedulerName = "default-scheduler"

// Scheduler returns a controller that binds Pods to Nodes, one after another: those of higher
// priority first, of the same priority in the order of their creation. A Pod may run on a Node that
// passes [RunFilters]; of those it gets the one with the largest free share of CPU, memory and
// places for Pods, and of equal ones the first by name. A Pod that fits on no Node gets the
// condition PodScheduled=False that says why, and is tried again when Nodes, Pods, claims or
// StorageClasses change.
//
// It writes spec.nodeName, which stage/memory takes and an API server refuses: there a scheduler
// runs anyway.
//
// The controller has a state. Give each loop one of its own.
func Scheduler(o Options) reconcile.Controller {
	s := newScheduler(cmp.Or(o.SchedulerName, defaultSchedulerName))
	return reconcile.Controller{
		Name: "scheduler", For: kinds.Pod,
		When: func(reconcile.Change) bool { return false },
		Watches: []reconcile.Watch{
			{Kind: kinds.Node, Map: s.onNode},
			{Kind: kinds.Pod, Map: s.onPod},
			{Kind: kinds.PersistentVolumeClaim, Map: s.onOther},
			{Kind: kinds.StorageClass, Map: s.onOther},
		},
		Reconcile: s.reconcile,
	}
}

// podsPerReconcile is how many Pods are scheduled before other controllers have a turn.
const podsPerReconcile = 100

// cycle is the only key of the scheduler.
var cycle = []types.NamespacedName{{Name: "cycle"}}

type scheduler struct {
	name   string
	nodes  map[string]*NodeInfo
	scores scoreCache
	queue  queue
}

func newScheduler(name string) *scheduler {
	return &scheduler{name: name, nodes: map[string]*NodeInfo{}, scores: newScoreCache(), queue: newQueue()}
}

// onOther handles changes of what may make Pods schedulable.
func (s *scheduler) onOther(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
	return s.retry()
}

// retry has the unschedulable Pods tried again.
func (s *scheduler) retry() []types.NamespacedName {
	if s.queue.retryAll() {
		return cycle
	}
	return nil
}

func (s *scheduler) onNode(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	n := s.node(ch.Object().GetName())
	n.setNode(ch.New)
	s.changed(n)
	if ch.New == nil && n.Pods == 0 {
		delete(s.nodes, n.Name)
	}
	return s.retry()
}

// node finds a Node, or makes one without an object: a Pod may name a Node that is not known yet.
func (s *scheduler) node(name string) *NodeInfo {
	n := s.nodes[name]
	if n == nil {
		n = &NodeInfo{Name: name, Requested: resources.Amounts{}}
		s.nodes[name] = n
	}
	return n
}

func (s *scheduler) changed(n *NodeInfo) { s.scores.changed(n, len(s.nodes)) }

// onPod counts what Pods request on their Nodes, and queues those that have no Node.
func (s *scheduler) onPod(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	before, now := usedNode(ch.Old), usedNode(ch.New)
	released := before != "" && before != now
	if released {
		n := s.node(before)
		n.RemovePod(ch.Old)
		s.changed(n)
	}
	if now != "" && before != now {
		n := s.node(now)
		n.AddPod(ch.New)
		s.changed(n)
	}
	waits := ch.New != nil && s.isResponsibleFor(ch.New)
	if name := control.NameOf(ch.Object()); waits != s.queue.has(name) {
		if waits {
			s.queue.add(ch.New)
			return cycle
		}
		s.queue.remove(name)
	}
	if released {
		return s.retry()
	}
	return nil
}

// usedNode is the Node whose resources a Pod uses, "" for none.
func usedNode(pod *unstructured.Unstructured) string {
	if pod == nil || IsPodTerminal(pod) {
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
	c := control.NewCall(ctx, r)
	for range podsPerReconcile {
		class := s.queue.next()
		if class == nil {
			return reconcile.Result{}, nil
		}
		if err := s.scheduleOne(c, class); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{After: 1}, nil
}

// scheduleOne finds a Node for the first Pod of a class.
func (s *scheduler) scheduleOne(c control.Call, class *podClass) error {
	pod := c.Cache.Get(kinds.Pod, class.waiting[0].name)
	if pod == nil {
		s.queue.remove(class.waiting[0].name)
		return nil
	}
	claims, err := unboundClaims(c, pod)
	if err == nil {
		var node *NodeInfo
		if node, err = s.scores.best(class, s.nodes); err == nil {
			return bindWithClaims(c, class, pod, node.Name, claims)
		}
	}
	var unfit *fitError
	if !errors.As(err, &unfit) {
		return err
	}
	class.unschedulable = true
	return reportUnschedulable(c, class, unfit.message(s.nodeCount()))
}

// bindWithClaims binds a Pod. Claims that wait for a Node are told first, and the Pod waits until
// they are bound.
func bindWithClaims(c control.Call, class *podClass, pod *unstructured.Unstructured, node string, claims []*unstructured.Unstructured) error {
	if len(claims) > 0 {
		class.unschedulable = true
		return selectNode(c, claims, node)
	}
	return Bind(c.Context, c.Request, pod, node)
}

// nodeCount is how many Nodes there are.
func (s *scheduler) nodeCount() (n int) {
	for _, node := range s.nodes {
		if node.Node != nil {
			n++
		}
	}
	return n
}
