package hunt_test

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A mutant is a small controller with one bug, and its correct twin. They were committed before the
// search was tuned.
type mutant struct {
	name  string // with the number of the class in the catalogue
	start func(bug bool) func(*hunt.Run)
}

// mutants are in the order of the catalogue of bug classes.
var mutants = []mutant{
	{"01 random child name", randomChildName},
	{"02 status as memory", statusAsMemory},
	{"03 count from a stale list", countFromList},
	{"04 random victim", randomVictim},
	{"05 stale deletionTimestamp", staleDeletion},
	{"06 uid unchecked by name", uidUnchecked},
	{"07 delete without preconditions", deleteUnconditionally},
	{"08 scale down on a stale spec", scaleDownStale},
	{"09 missed intermediate state", missedState},
	{"10 two steps keyed on the first", twoSteps},
	{"11 finalizer removed in spite of an error", finalizerInSpiteOfError},
	{"12 finalizer added after the first child", finalizerAfterChild},
	{"13 clean-up only on a Delete event", cleanUpOnEvent},
	{"14 goes on after removing the finalizer", goesOnAfterFinalizer},
	{"15 owner reference missing", ownerMissing},
	{"17 status from cache overwrites", statusOverwrites},
	{"18 update without resourceVersion", updateWithoutVersion},
	{"20 error swallowed", errorSwallowed},
	{"21 AlreadyExists is failure", alreadyExistsFails},
	{"22 NotFound is done", notFoundIsDone},
	{"24 watch missing", watchMissing},
	{"25 hot loop", hotLoop},
	{"27 memory instead of state", memoryInsteadOfState},
	{"28 cache mutated", cacheMutated},
}

// mutantOptions are a lab without workloads.
func mutantOptions(runs int) hunt.Options {
	kind := func(k schema.GroupVersionKind) memory.Kind { return memory.Kind{GroupVersionKind: k, Status: true} }
	return hunt.Options{
		Runs: runs, Precious: []schema.GroupVersionKind{tasks, claims},
		Lab: labtest.Options{Nodes: -1, OnlyControllers: true, OnlyStages: true, Kinds: []memory.Kind{kind(stores), kind(tasks), kind(claims)}},
	}
}

var (
	stores     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Store"}
	tasks      = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Task"}
	claims     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Claim"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

type object = unstructured.Unstructured

// A client is a process as most operators use one: with objects, not options.
type client struct {
	*hunt.Process
	ctx context.Context
}

func (c client) get(kind schema.GroupVersionKind, name string) (*object, error) {
	obj, err := c.Get(c.ctx, kind, types.NamespacedName{Namespace: "default", Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// owned returns the objects of a kind that an object controls.
func (c client) owned(kind schema.GroupVersionKind, owner *object) (found []*object, err error) {
	list, err := c.List(c.ctx, kind, "default", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], owner) {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

func (c client) create(obj *object) error {
	_, err := c.Create(c.ctx, obj, metav1.CreateOptions{})
	return err
}

// ensure creates an object unless it is there. One of another owner is an error.
func (c client) ensure(obj *object) error {
	err := c.create(obj)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := c.Live().Get(c.ctx, obj.GroupVersionKind(), nameOf(obj))
	if err != nil {
		return err
	}
	if mine, theirs := metav1.GetControllerOf(obj), metav1.GetControllerOf(have); mine != nil && (theirs == nil || theirs.UID != mine.UID) {
		return fmt.Errorf("%s %s is not ours", have.GetKind(), have.GetName())
	}
	return nil
}

func (c client) update(obj *object) error {
	_, err := c.Update(c.ctx, obj, metav1.UpdateOptions{})
	return err
}

func (c client) updateStatus(obj *object) error {
	_, err := c.Update(c.ctx, obj, metav1.UpdateOptions{}, "status")
	return err
}

// remove deletes the object with the uid that was seen.
func (c client) remove(obj *object) error {
	uid := obj.GetUID()
	err := c.Delete(c.ctx, obj.GroupVersionKind(), nameOf(obj), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return ignoreNotFound(err)
}

// removeByName deletes whatever has a name.
func (c client) removeByName(kind schema.GroupVersionKind, namespace, name string) error {
	return ignoreNotFound(c.Delete(c.ctx, kind, types.NamespacedName{Namespace: namespace, Name: name}, metav1.DeleteOptions{}))
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func nameOf(obj *object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// child returns an object that a Store controls.
func child(kind schema.GroupVersionKind, store *object, name string) *object {
	obj := &object{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	yes := true
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Store", Name: store.GetName(), UID: store.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	return obj
}

// nameless makes the API server generate the name.
func nameless(obj *object) *object {
	obj.SetGenerateName(obj.GetName() + "-")
	obj.SetName("")
	return obj
}

func set(obj *object, value any, path ...string) {
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}

func text(obj *object, path ...string) string {
	s, _, _ := unstructured.NestedString(obj.Object, path...)
	return s
}

func number(obj *object, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, path...)
	return n
}

// forStore adds a process whose controller is called with a Store, nil if it is gone.
func forStore(r *hunt.Run, process string, watches []reconcile.Watch, do func(client, *object, string) error) {
	r.Process(process, func(p *hunt.Process) []reconcile.Controller {
		return []reconcile.Controller{storeController(p, watches, do)}
	})
}

func storeController(p *hunt.Process, watches []reconcile.Watch, do func(client, *object, string) error) reconcile.Controller {
	return reconcile.Controller{Name: "store", For: stores, Watches: watches, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
		c := client{p, ctx}
		store, err := c.get(stores, q.Name.Name)
		if err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, do(c, store, q.Name.Name)
	}}
}

// owns are watches of kinds whose objects Stores control.
func owns(kinds ...schema.GroupVersionKind) (all []reconcile.Watch) {
	for _, kind := range kinds {
		all = append(all, reconcile.Watch{Kind: kind})
	}
	return all
}

// follows are watches of objects with the label store.
func follows(kinds ...schema.GroupVersionKind) (all []reconcile.Watch) {
	for _, kind := range kinds {
		all = append(all, reconcile.Watch{Kind: kind, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			return []types.NamespacedName{{Namespace: "default", Name: ch.Object().GetLabels()["store"]}}
		}})
	}
	return all
}

func isDeleted(obj *object) bool { return obj == nil || obj.GetDeletionTimestamp() != nil }

func store(spec string) string {
	return fmt.Sprintf(`{apiVersion: example.com/v1, kind: Store, metadata: {name: a, namespace: default}, spec: %s}`, spec)
}
