package kubelet

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Name is the name of the controller.
const Name = "kubelet-pods"

// Pods returns the controller that does what [Next] returns. It acts on the Pods that selects
// accepts, on nodes whose kubelet runs (see nodes.KubeletRuns). With a nil function it acts on all
// Pods there. No Stage may be played on the same Pods.
func Pods(o Options, selects func(pod *unstructured.Unstructured) bool) reconcile.Controller {
	recorded := recorded{at: map[types.NamespacedName]lastRecorded{}}
	return reconcile.Controller{
		Name: Name, Component: "kubelet", For: kinds.Pod, Indexes: []*reconcile.Index{pods.ByNode}, Watches: []reconcile.Watch{{Kind: kinds.Node, Map: podsOfNode}, {Kind: kinds.Pod, Map: recorded.forget}},
		Reconcile: control.OnExisting(kinds.Pod, func(c control.Call, pod *unstructured.Unstructured) (reconcile.Result, error) {
			c.Manager = control.Kubelet
			name := pods.Of(pod).NodeName()
			if name == "" || selects != nil && !selects(pod) {
				return reconcile.Result{}, nil
			}
			node := c.Cache.Get(kinds.Node, types.NamespacedName{Name: name})
			if !nodes.KubeletRuns(node) {
				return reconcile.Result{}, nil
			}
			o := o
			if o.HostIP == nil {
				o.HostIP = func(string) string { return internalIP(node) }
			}
			if reason, message := refusal(c.Cache, pod); reason != "" {
				return refuse(c, pod, reason, message)
			}
			return recorded.do(c, pod, o)
		}),
	}
}

// podsOfNode returns the Pods of a Node whose kubelet continues to run.
func podsOfNode(cache *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if ch.New == nil || !nodes.KubeletRuns(ch.New) || ch.Old != nil && nodes.KubeletRuns(ch.Old) {
		return nil
	}
	for _, pod := range cache.By(pods.ByNode, ch.New.GetName()) {
		names = append(names, control.NameOf(pod))
	}
	return names
}

func internalIP(node *unstructured.Unstructured) string {
	for _, a := range fields.Maps(node.Object, "status", "addresses") {
		if fields.String(a, "type") == "InternalIP" {
			return fields.String(a, "address")
		}
	}
	return ""
}

// A recorded knows until when the Notices of Pods have been recorded, which their status does not
// say.
type recorded struct {
	mu sync.Mutex
	at map[types.NamespacedName]lastRecorded
}

// lastRecorded is until when the Notices of a Pod have been recorded.
type lastRecorded struct {
	pod types.UID
	at  time.Time
}

// forget forgets a Pod that is gone. It is the Map of a Watch.
func (r *recorded) forget(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.New == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.at, control.NameOf(ch.Old))
	}
	return nil
}

// do records the Notices that are due and writes a Step.
func (r *recorded) do(c control.Call, pod *unstructured.Unstructured, o Options) (reconcile.Result, error) {
	next, err := r.record(c, pod, o)
	if err != nil {
		return reconcile.Result{}, reconcile.Final(err)
	}
	step, err := Next(pod, c.Now, o)
	if err != nil {
		return reconcile.Result{}, reconcile.Final(err)
	}
	if err := c.WriteStatus(pod, control.Status(step.Status)); err != nil {
		return reconcile.Result{}, control.IgnoreNotFound(err)
	}
	for _, e := range step.Events {
		c.Record(pod, e.Type, e.Reason, e.Message)
	}
	if step.Delete {
		return reconcile.Result{}, c.DeleteNow(pod)
	}
	if next = earlier(step.Next, next); next.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{After: max(next.Sub(c.Now), time.Nanosecond)}, nil
}

// record records the Notices that are due, and returns the time of the next one.
func (r *recorded) record(c control.Call, pod *unstructured.Unstructured, o Options) (next time.Time, err error) {
	notices, err := Notices(pod, c.Now, o)
	if len(notices) == 0 {
		return next, err
	}
	last := r.last(pod)
	for _, n := range notices {
		switch {
		case n.At.After(c.Now):
			next = earlier(next, n.At)
		case n.At.After(last):
			c.Record(pod, n.Type, n.Reason, n.Message)
		}
	}
	r.set(pod, c.Now)
	return next, nil
}

func (r *recorded) last(pod *unstructured.Unstructured) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.at[control.NameOf(pod)]; last.pod == pod.GetUID() {
		return last.at
	}
	return time.Time{}
}

func (r *recorded) set(pod *unstructured.Unstructured, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[control.NameOf(pod)] = lastRecorded{pod.GetUID(), at}
}
