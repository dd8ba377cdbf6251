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
// controllers change it until it is deleted or driven to [Ready]. The states, and what is written
// for them, are those of package kstatustest. It fails the test if the kind does not have the
// state. Only kind, namespace and name of the object are used. Controllers react when time passes,
// for example with the status of the object's owner. A Node that is kstatustest.NotReady is
// unreachable from then on: it is tainted, nothing is done for its Pods, and they are evicted when
// they no longer tolerate that (see package stage/lab/controllers/nodes), after 5 minutes by default.
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

// write replaces an object: first everything but the status, if it has changed, then the status, if
// it is a subresource.
func (l *Lab) write(obj, made *unstructured.Unstructured, apart bool) (err error) {
	ctx, status := context.Background(), made.Object["status"]
	if !apart || !reflect.DeepEqual(obj.Object["spec"], made.Object["spec"]) {
		if made, err = l.Cluster().Update(ctx, made, metav1.UpdateOptions{}); err != nil || !apart {
			return err
		}
		made.Object["status"] = status
	}
	_, err = l.Cluster().Update(ctx, made, metav1.UpdateOptions{}, "status")
	return err
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

// runs reports whether a controller of a name runs.
func (l *Lab) runs(name string) bool {
	return slices.ContainsFunc(l.options.Controllers, func(c reconcile.Controller) bool { return c.Name == name })
}

// kubelet returns what says whether Pods are played on a Node: without the controllers of Nodes they
// always are.
func (l *Lab) kubelet() func(*unstructured.Unstructured) bool {
	if !l.runs("node-lifecycle") {
		return nil
	}
	return nodes.KubeletRuns
}

// controllersExceptHeld returns the controllers, changed so that they ignore objects that are held.
// Held Nodes are tainted nevertheless, and their Pods evicted.
func (l *Lab) controllersExceptHeld() []reconcile.Controller {
	restrained := slices.Clone(l.options.Controllers)
	for i, c := range restrained {
		if c.For == nodeKind {
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

// watchesExceptHeld returns the watches of a controller that maps the objects it is for to other
// keys, as the scheduler does, changed so that it does not see held Pods without a node.
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
