package labtest

import (
	"context"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Ready is the same state as kstatustest.Current.
const Ready kstatustest.State = "Ready"

var (
	pods     = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// Drive gives an existing object the status of a state and holds it there: neither Stages nor
// controllers change it until it is deleted or driven to [Ready]. Package kstatustest defines the
// states, and what is written for them. Drive fails the test if the kind does not have the state.
// It uses only kind, namespace and name of the object.
//
// Controllers react when time passes, for example with the status of the object's owner. A Node
// that is kstatustest.NotReady is unreachable from then on: it is tainted, and nothing is done for
// its Pods. They are evicted when they no longer tolerate the taint, after 5 minutes by default
// (see package stage/lab/controllers/nodes).
func (l *Lab) Drive(obj runtime.Object, state kstatustest.State) {
	l.t.Helper()
	u, err := kstatustest.Open(obj)
	l.must(err)
	l.must(l.drive(referenceOf(u), state))
}

func (l *Lab) drive(ref reference, state kstatustest.State) error {
	obj, err := l.get(ref)
	if err != nil {
		return err
	}
	if state == Ready {
		state = kstatustest.Current
	}
	if l.held[ref] = obj.GetUID(); state == kstatustest.Current {
		delete(l.held, ref)
	}
	apart := l.hasStatusSubresource(ref.GroupVersionKind)
	made, err := inState(obj, state, l.Now(), apart)
	if err != nil {
		return err
	}
	return l.write(obj, made, apart)
}

// write replaces an object. It first writes everything except the status, if that has changed. Then
// it writes the status, if the status is a subresource.
func (l *Lab) write(obj, made *unstructured.Unstructured, apart bool) (err error) {
	ctx, status := context.Background(), made.Object["status"]
	if !apart || !reflect.DeepEqual(obj.Object["spec"], made.Object["spec"]) {
		if made, err = l.Cluster().Update(ctx, made, metav1.UpdateOptions{}); err != nil || !apart {
			return err
		}
		made.Object["status"] = status
	}
	if made.GroupVersionKind() == pods {
		observe(made)
	}
	_, err = l.Cluster().Update(ctx, made, metav1.UpdateOptions{}, "status")
	return err
}

// observe says in the status of a Pod, and in its conditions, that they are of the present generation,
// as kubelets and the scheduler do.
func observe(pod *unstructured.Unstructured) {
	status, _ := object.Map(pod.Object, "status")
	if status == nil || pod.GetGeneration() == 0 {
		return
	}
	status = runtime.DeepCopyJSON(status)
	pod.Object["status"], status["observedGeneration"] = status, pod.GetGeneration()
	conditions, _ := object.Slice(status, "conditions")
	for _, v := range conditions {
		if c, ok := object.ToMap(v); ok {
			c["observedGeneration"] = pod.GetGeneration()
		}
	}
}

// holds reports whether an object is held in a state by Drive.
func (l *Lab) holds(obj *unstructured.Unstructured) bool {
	uid, held := l.held[referenceOf(obj)]
	return held && uid == obj.GetUID() && obj.GetDeletionTimestamp() == nil
}

// isPlayed reports whether Stages are played on an object. A Pod without a node is left to the
// scheduler, if there is one.
func (l *Lab) isPlayed(obj *unstructured.Unstructured) bool {
	if l.holds(obj) || l.runsInKubelet(obj) || !controllers.Bound(obj) && obj.GroupVersionKind() == nodeKind {
		return false
	}
	return isBound(obj) || obj.GroupVersionKind() != pods || !l.schedules() || obj.GetDeletionTimestamp() != nil
}

func (l *Lab) schedules() bool { return l.runs("scheduler") }

// runs reports whether a controller with this name runs.
func (l *Lab) runs(name string) bool {
	return slices.ContainsFunc(l.options.Controllers, func(c reconcile.Controller) bool { return c.Name == name })
}

// kubelet returns a function that reports whether Pods are played on a Node. Without the
// controllers of Nodes they always are.
func (l *Lab) kubelet() func(*unstructured.Unstructured) bool {
	if !l.runs("node-lifecycle") {
		return nil
	}
	return nodes.KubeletRuns
}

// exceptHeld returns controllers, changed so that they ignore objects that are held. Held Nodes are
// tainted nevertheless, and their Pods evicted.
func (l *Lab) exceptHeld(given []reconcile.Controller) []reconcile.Controller {
	restrained := slices.Clone(given)
	for i, c := range restrained {
		if c.For == nodeKind || c.Reconcile == nil {
			continue
		}
		restrained[i].Reconcile = func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if obj := r.Cache.Get(c.For, r.Name); obj != nil && l.holds(obj) {
				return reconcile.Result{}, nil
			}
			return c.Reconcile(ctx, r)
		}
		restrained[i].Watches = l.watchesExceptHeld(c)
	}
	return restrained
}

// watchesExceptHeld returns the watches of a controller, changed so that it does not see held Pods
// without a node. It is for controllers such as the scheduler, which map their objects to other
// keys.
func (l *Lab) watchesExceptHeld(c reconcile.Controller) []reconcile.Watch {
	watches := slices.Clone(c.Watches)
	for i, w := range watches {
		if w.Kind != c.For || w.Map == nil {
			continue
		}
		watches[i].Map = func(cache *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			if ch.New != nil && l.holds(ch.New) && !isBound(ch.New) {
				ch.New = nil
			}
			if ch.Object() == nil {
				return nil
			}
			return w.Map(cache, ch)
		}
	}
	return watches
}

func isBound(pod *unstructured.Unstructured) bool {
	node, _ := object.String(pod.Object, "spec", "nodeName")
	return node != ""
}
