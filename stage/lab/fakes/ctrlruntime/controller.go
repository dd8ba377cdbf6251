package ctrlruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// requeue is the delay for a Result with Requeue and without a time. A manager waits 5ms at first,
// and longer each time.
const requeue = time.Second

// Controller makes a lab controller of a reconciler. The lab calls the reconciler, one request at a
// time and in virtual time, when an object of the kind changes, and when an object that it owns, of
// the kinds owned, changes:
//
//	lab := labtest.New(t, labtest.Options{Definitions: crds, Operator: func(cluster *memory.Cluster) []reconcile.Controller {
//		c := ctrlruntime.New(cluster, ctrlruntime.Options{Scheme: scheme})
//		return []reconcile.Controller{ctrlruntime.Controller(&WebsiteReconciler{Client: c}, websites, deployments)}
//	}})
//
// A lab or hunt refuses a controller whose reconciler is nil, or has fields for a client
// (client.Client) that are all nil.
//
// Errors are retried with increasing delays, except terminal errors. RequeueAfter is exact; Requeue
// alone means after a second.
//
// A panic is an error that is tried again, as in a manager. See [ControllerWith] for predicates and
// for mapped watches.
func Controller(r ctrl.Reconciler, kind schema.GroupVersionKind, owned ...schema.GroupVersionKind) reconcile.Controller {
	return ControllerWith(r, ControllerOptions{For: kind, Owns: owned})
}

// ControllerOptions of [ControllerWith] are the options of controller-runtime's builder.
type ControllerOptions struct {
	// Name is what traces and errors call the controller. Default: the kind.
	Name string
	// Scheme makes Go types of the objects that predicates and functions get. Default: they get
	// *unstructured.Unstructured, as they do if the scheme does not know the kind.
	Scheme *runtime.Scheme
	// For is the kind of the requests. Predicates say which of its changes matter: all of them must
	// accept a change.
	For        schema.GroupVersionKind
	Predicates []predicate.Predicate
	// Owns are the kinds of objects that objects of kind For control. A change of such an object
	// concerns its controller.
	Owns []schema.GroupVersionKind
	// Watches are further kinds to watch. A function names the objects that a change concerns.
	Watches []Watch
	// EventFilters must accept every change, as with WithEventFilter.
	EventFilters []predicate.Predicate
}

// A Watch is a kind whose changes matter to a controller.
type Watch struct {
	Kind schema.GroupVersionKind
	// Map names the objects of kind For that a change concerns. It is called with the old and with
	// the new object. It is a handler.MapFunc. Default: the object that controls the changed
	// object.
	Map func(context.Context, client.Object) []ctrl.Request
	// Predicates say which changes matter.
	Predicates []predicate.Predicate
}

// ControllerWith is [Controller] with options.
func ControllerWith(r ctrl.Reconciler, o ControllerOptions) reconcile.Controller {
	c := reconcile.Controller{Name: cmp.Or(o.Name, o.For.Kind), For: o.For, When: o.passes(o.Predicates), Err: checkReconciler(r)}
	for _, kind := range o.Owns {
		c.Watches = append(c.Watches, o.watch(Watch{Kind: kind}))
	}
	for _, w := range o.Watches {
		c.Watches = append(c.Watches, o.watch(w))
	}
	c.Reconcile = func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := call(ctx, r, ctrl.Request{NamespacedName: request.Name})
		switch {
		case errors.Is(err, ctrl.TerminalError(nil)):
			return reconcile.Result{}, nil
		case err != nil:
			return reconcile.Result{}, err
		case result.RequeueAfter == 0 && result.Requeue: //nolint:staticcheck // reconcilers still return it
			return reconcile.Result{After: requeue}, nil
		}
		return reconcile.Result{After: result.RequeueAfter}, nil
	}
	return c
}

// call calls a reconciler. A panic is its error.
func call(ctx context.Context, r ctrl.Reconciler, request ctrl.Request) (result ctrl.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = ctrl.Result{}, panicked{p}
		}
	}()
	return r.Reconcile(ctx, request)
}

// panicked is the error of a reconciler that panics.
type panicked struct{ cause any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v [recovered]", p.cause) }

// Panic returns the value of the panic. Package hunt uses it.
func (p panicked) Panic() any { return p.cause }

// passes returns a function that reports whether all predicates accept a change; nil without
// predicates.
func (o ControllerOptions) passes(own []predicate.Predicate) func(reconcile.Change) bool {
	all := slices.Concat(o.EventFilters, own)
	if len(all) == 0 {
		return nil
	}
	return func(ch reconcile.Change) bool {
		return !slices.ContainsFunc(all, func(p predicate.Predicate) bool { return !o.holds(p, ch) })
	}
}

func (o ControllerOptions) holds(p predicate.Predicate, ch reconcile.Change) bool {
	switch {
	case ch.Old == nil:
		return p.Create(event.CreateEvent{Object: o.typed(ch.New)})
	case ch.New == nil:
		return p.Delete(event.DeleteEvent{Object: o.typed(ch.Old)})
	}
	return p.Update(event.UpdateEvent{ObjectOld: o.typed(ch.Old), ObjectNew: o.typed(ch.New)})
}

// typed returns an object as its Go type, if the scheme has one.
func (o ControllerOptions) typed(obj *unstructured.Unstructured) client.Object {
	if o.Scheme == nil {
		return obj.DeepCopy()
	}
	made, err := o.Scheme.New(obj.GroupVersionKind())
	if err != nil {
		return obj.DeepCopy()
	}
	is, ok := made.(client.Object)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, made) != nil {
		return obj.DeepCopy()
	}
	return is
}

func (o ControllerOptions) watch(w Watch) reconcile.Watch {
	passes := o.passes(w.Predicates)
	return reconcile.Watch{Kind: w.Kind, Map: func(_ *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
		if passes != nil && !passes(ch) {
			return nil
		}
		for _, obj := range []*unstructured.Unstructured{ch.Old, ch.New} {
			if obj != nil {
				names = append(names, o.concerned(w, obj)...)
			}
		}
		return names
	}}
}

// concerned returns the objects that an object of a watched kind concerns.
func (o ControllerOptions) concerned(w Watch, obj *unstructured.Unstructured) (names []types.NamespacedName) {
	if w.Map != nil {
		for _, request := range w.Map(context.Background(), o.typed(obj)) {
			names = append(names, request.NamespacedName)
		}
		return names
	}
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != o.For.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || gv.Group != o.For.Group {
		return nil
	}
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: owner.Name}}
}
