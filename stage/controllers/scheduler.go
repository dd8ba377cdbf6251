package controllers

import (
	"cmp"
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/requests"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Scheduler returns a controller that gives Pods their nodes, one after another: by priority, then in the order of their creation. A Pod fits on a node that
// is ready and not cordoned, whose taints it tolerates, that its nodeSelector and required node affinity match, and that has room for what it
// requests; of those it goes to the node with the largest share of free CPU and memory. One that fits nowhere gets the condition
// PodScheduled=False with what is in its way, and is tried again when nodes, Pods or claims change. It preempts nobody, and ignores host ports, Pod
// affinity and topology constraints.
//
// It takes the Pods whose schedulerName is name, or that have none if it is "" or "default-scheduler". It writes spec.nodeName, which
// stage/memory takes and an API server refuses: there a scheduler runs anyway.
//
// The controller has a state. Give each loop one of its own.
func Scheduler(name string) reconcile.Controller {
	s := &scheduler{
		name:     cmp.Or(name, defaultScheduler),
		nodes:    map[string]*nodeRoom{},
		rankings: rankings{byClass: map[string]*ranking{}},
		classes:  map[string]*podClass{},
		waiters:  map[types.NamespacedName]*waiter{},
	}
	return reconcile.Controller{
		Name: "scheduler", For: pods,
		When: func(reconcile.Change) bool { return false },
		Watches: []reconcile.Watch{
			{Kind: nodes, Map: s.sawNode},
			{Kind: pods, Map: s.sawPod},
			{Kind: volumeClaims, Map: s.sawOther},
			{Kind: storageClasses, Map: s.sawOther},
		},
		Reconcile: s.reconcile,
	}
}

const (
	defaultScheduler = "default-scheduler"
	batch            = 100 // Pods that are scheduled at one call
)

// cycle is the only key of the scheduler.
var cycle = []types.NamespacedName{{Name: "cycle"}}

// A scheduler knows the room on the nodes and the Pods that wait. Pods that ask for the same form a class: if the first of them fits
// nowhere, neither do the others.
type scheduler struct {
	name     string
	nodes    map[string]*nodeRoom
	rankings rankings
	classes  map[string]*podClass
	waiters  map[types.NamespacedName]*waiter
	arrived  uint64
}

// A podClass is the Pods that wait and ask for the same.
type podClass struct {
	key     string
	request podRequest
	waiting []*waiter // in the order of their turns
	stuck   bool      // the first one fits nowhere, and nothing has changed since
	message string    // what those that wait were told
	untold  []*waiter // those that came later
}

// A waiter is a Pod that waits.
type waiter struct {
	class    *podClass
	name     types.NamespacedName
	priority int64
	seq      uint64
}

func (s *scheduler) sawOther(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
	return s.retry()
}

// retry has all classes looked at again.
func (s *scheduler) retry() []types.NamespacedName {
	if len(s.classes) == 0 {
		return nil
	}
	for _, c := range s.classes {
		c.stuck = false
	}
	return cycle
}

func (s *scheduler) sawNode(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	name := ch.Object().GetName()
	n := s.room(name)
	n.see(ch.New)
	s.changed(n)
	if ch.New == nil && n.isEmpty() {
		delete(s.nodes, name)
	}
	return s.retry()
}

// room finds or makes the place of a node. Pods may be on one that is not known yet.
func (s *scheduler) room(name string) *nodeRoom {
	n := s.nodes[name]
	if n == nil {
		n = &nodeRoom{name: name, used: requests.Amounts{}}
		s.nodes[name] = n
	}
	return n
}

func (s *scheduler) changed(n *nodeRoom) { s.rankings.changed(n, len(s.nodes)) }

// sawPod keeps account of what Pods use, and of those that wait.
func (s *scheduler) sawPod(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	before, now := s.place(ch.Old), s.place(ch.New)
	freed := before != "" && before != now
	if freed {
		n := s.room(before)
		n.release(requests.Of(ch.Old.Object))
		s.changed(n)
	}
	if now != "" && before != now {
		n := s.room(now)
		n.take(requests.Of(ch.New.Object))
		s.changed(n)
	}
	waits := ch.New != nil && s.isMine(ch.New)
	if name := nameOf(ch.Object()); waits != (s.waiters[name] != nil) {
		if waits {
			s.enqueue(ch.New)
			return cycle
		}
		s.dequeue(name)
	}
	if freed {
		return s.retry()
	}
	return nil
}

// place is the node on which a Pod uses something, "" for none.
func (s *scheduler) place(obj *unstructured.Unstructured) string {
	if obj == nil || (pod{obj}).ended() {
		return ""
	}
	return pod{obj}.node()
}

func (s *scheduler) isMine(obj *unstructured.Unstructured) bool {
	p := pod{obj}
	return p.node() == "" && p.active() && cmp.Or(text(p.Object, "spec", "schedulerName"), defaultScheduler) == s.name && !isGated(obj)
}

func (s *scheduler) enqueue(obj *unstructured.Unstructured) {
	r := newPodRequest(obj)
	key := r.signature()
	c := s.classes[key]
	if c == nil {
		c = &podClass{key: key, request: r}
		s.classes[key] = c
	}
	s.arrived++
	w := &waiter{class: c, name: nameOf(obj), priority: number(obj.Object, 0, "spec", "priority"), seq: s.arrived}
	at, _ := slices.BinarySearchFunc(c.waiting, w, (*waiter).compare)
	c.waiting = slices.Insert(c.waiting, at, w)
	c.untold = append(c.untold, w)
	c.stuck = false // the new one has to be told, too
	s.waiters[w.name] = w
}

// compare puts higher priorities first, and of the same those that came first.
func (w *waiter) compare(other *waiter) int {
	return cmp.Or(cmp.Compare(other.priority, w.priority), cmp.Compare(w.seq, other.seq))
}

func (s *scheduler) dequeue(name types.NamespacedName) {
	w := s.waiters[name]
	c := w.class
	delete(s.waiters, name)
	if at, _ := slices.BinarySearchFunc(c.waiting, w, (*waiter).compare); at == 0 {
		c.waiting = c.waiting[1:] // most of the time, and there may be very many
	} else {
		c.waiting = slices.Delete(c.waiting, at, at+1)
	}
	if len(c.waiting) == 0 {
		delete(s.classes, c.key)
	}
}

// next returns the class of the Pod whose turn it is, nil if none can be scheduled.
func (s *scheduler) next() *podClass {
	var first *podClass
	for _, c := range s.classes {
		if !c.stuck && (first == nil || c.waiting[0].compare(first.waiting[0]) < 0) {
			first = c
		}
	}
	return first
}

func (s *scheduler) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	c := call{Request: r, ctx: ctx}
	for range batch {
		class := s.next()
		if class == nil {
			return reconcile.Result{}, nil
		}
		if err := s.schedule(c, class); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{After: 1}, nil
}

// schedule finds a node for the first Pod of a class.
func (s *scheduler) schedule(c call, class *podClass) error {
	obj := c.Cache.Get(pods, class.waiting[0].name)
	if obj == nil {
		s.dequeue(class.waiting[0].name)
		return nil
	}
	claims, err := c.unboundClaims(obj)
	if err == nil {
		var node *nodeRoom
		if node, err = s.rankings.best(class, s.nodes); err == nil {
			return s.bind(c, class, pod{obj}, node.name, claims)
		}
	}
	var unfit *unfitError
	if !errors.As(err, &unfit) {
		return err
	}
	class.stuck = true
	return c.tell(class, unfit.message(s.present()))
}

// present is how many nodes there are.
func (s *scheduler) present() (n int) {
	for _, room := range s.nodes {
		n += truth(room.there)
	}
	return n
}

// bind writes the node into the Pod; first, claims that wait for it are told.
func (s *scheduler) bind(c call, class *podClass, p pod, node string, claims []*unstructured.Unstructured) error {
	if len(claims) > 0 {
		class.stuck = true // until they are bound
		return c.selectNode(claims, node)
	}
	bound, err := c.merge(p.Unstructured, map[string]any{"spec": map[string]any{"nodeName": node}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.setPodScheduled(bound, condition{"type": "PodScheduled", "status": "True", "lastProbeTime": nil, "lastTransitionTime": c.now()})
}

// tell writes into the Pods of a class why they are not scheduled: into those that were not told so before.
func (c call) tell(class *podClass, message string) error {
	told := class.untold
	if class.message != message {
		told = slices.Clone(class.waiting)
	}
	class.message, class.untold = message, nil
	for _, w := range told {
		obj := c.Cache.Get(pods, w.name)
		if obj == nil || (pod{obj}).node() != "" {
			continue
		}
		next := condition{
			"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
			"observedGeneration": obj.GetGeneration(), "lastProbeTime": nil, "lastTransitionTime": c.now(),
		}
		if err := c.setPodScheduled(obj, next); err != nil && !apierrors.IsNotFound(err) {
			class.message = "" // tell all again
			return err
		}
	}
	return nil
}

// setPodScheduled sets the condition in its place.
func (c call) setPodScheduled(obj *unstructured.Unstructured, next condition) error {
	old := conditionsOf(obj).find("PodScheduled")
	if old != nil && old.field("status") == next.field("status") {
		if old.field("message") == next.field("message") {
			return nil
		}
		next["lastTransitionTime"] = old["lastTransitionTime"]
	}
	for field := range old {
		if _, ok := next[field]; !ok {
			next[field] = nil // a merge would keep it
		}
	}
	data, err := object.AppendJSON(nil, map[string]any{"status": map[string]any{"conditions": []any{map[string]any(next)}}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(c.ctx, pods, nameOf(obj), types.StrategicMergePatchType, data, metav1.PatchOptions{FieldManager: "kube-scheduler"}, "status")
	return err
}
