package hunt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A User does what users do: no fault strikes it.
type User struct{ run *Run }

// Cluster returns the API server. Objects that are created with it are not deleted at the end.
func (u *User) Cluster() *memory.Cluster { return u.run.sim.Cluster() }

// Apply creates objects, or changes them to what is given, see [labtest.Lab.Apply]. The users
// delete them at the end.
func (u *User) Apply(manifests ...any) error {
	before := map[string]string{}
	for _, obj := range u.run.lab.Applied() {
		before[nameOfObject(obj)] = obj.GetResourceVersion()
	}
	u.run.lab.Apply(manifests...)
	for _, obj := range u.run.lab.Applied() {
		if before[nameOfObject(obj)] == obj.GetResourceVersion() {
			continue
		}
		u.run.tell("user", "applies %s", nameOfObject(obj))
		u.run.remember(obj)
	}
	return nil
}

// remember keeps what was applied, without what the API server adds.
func (r *Run) remember(obj *unstructured.Unstructured) {
	if isImmortal(obj.GroupVersionKind(), obj.GetName()) {
		return
	}
	obj = obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	same := func(o *unstructured.Unstructured) bool { return nameOfObject(o) == nameOfObject(obj) }
	if i := slices.IndexFunc(r.applied, same); i >= 0 {
		r.applied[i] = obj
		return
	}
	r.applied = append(r.applied, obj)
}

// isImmortal reports whether an object is a Namespace that an API server does not let users delete.
func isImmortal(kind schema.GroupVersionKind, name string) bool {
	return kind.Group == "" && kind.Kind == "Namespace" &&
		slices.Contains([]string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}, name)
}

// Patch changes an object, by namespace/name, with a merge patch.
func (u *User) Patch(kind schema.GroupVersionKind, key, patch string) error {
	name, _ := parseKey(key)
	obj, err := u.Cluster().Patch(context.Background(), kind, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "user"})
	if err == nil {
		u.run.tell("user", "patches %s %s", nameOfObject(obj), patch)
		if u.run.isApplied(obj) {
			u.run.remember(obj)
		}
	}
	return err
}

// Delete deletes an object, by namespace/name, in the background, as kubectl does.
func (u *User) Delete(kind schema.GroupVersionKind, key string) error {
	return u.DeleteAs(metav1.DeletePropagationBackground, kind, key)
}

// DeleteAs deletes an object, by namespace/name: in the foreground it goes after what it owns, and
// orphans stay.
func (u *User) DeleteAs(policy metav1.DeletionPropagation, kind schema.GroupVersionKind, key string) error {
	name, _ := parseKey(key)
	err := u.Cluster().Delete(context.Background(), kind, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err == nil {
		u.run.deleted[kind]++
		how := ""
		if policy != metav1.DeletePropagationBackground {
			how = ": " + string(policy)
		}
		u.run.tell("user", "deletes %s %s%s", kind.Kind, name, how)
	}
	return err
}

// Recreate deletes an object that was applied, by namespace/name, and creates it again as soon as it
// is gone.
func (u *User) Recreate(kind schema.GroupVersionKind, key string) error {
	for i, obj := range u.run.applied {
		if obj.GroupVersionKind() == kind && nameOf(obj).String() == key {
			return u.run.act(Fault{Do: Recreate, Number: i + 1})
		}
	}
	return errNothing
}

func (r *Run) isApplied(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.applied, func(o *unstructured.Unstructured) bool { return nameOfObject(o) == nameOfObject(obj) })
}

// A pendingAction is tried again each second, until its end, and not long after the last fault.
type pendingAction struct {
	at, end time.Time
	name    string
	creates string // the object that it creates again, unless another user deletes it
	do      func(*User) error
}

// do carries out an action of a user, or has it tried again.
func (r *Run) do(a pendingAction) {
	err := a.do(&User{r})
	now := r.sim.Now()
	again := apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
	switch {
	case err == nil:
	case again && now.Before(r.rest(a.end)):
		a.at = now.Add(time.Second)
		r.users = append(r.users, a)
	default:
		r.tell("user", "%s: %v", a.name, err)
	}
}

// takeSteps has the users take their steps, up to a number, and in order.
func (r *Run) takeSteps(number int) {
	for i := range min(number, len(r.steps)) {
		if s := &r.steps[i]; !s.done {
			s.done = true
			r.do(pendingAction{end: r.sim.Now().Add(time.Minute), name: s.name, do: s.do})
		}
	}
}

// strike has a user do what a fault says, and keeps it for the twin.
func (r *Run) strike(f Fault) {
	steps := r.stepsDone()
	if err := r.act(f); err == nil && f.Do != Step {
		f.steps = steps
		r.acted = append(r.acted, f.atRest())
	}
}

func (r *Run) stepsDone() (n int) {
	for _, s := range r.steps {
		if s.done {
			n++
		}
	}
	return n
}

// act has a user do what a fault says.
func (r *Run) act(f Fault) error {
	number := max(f.Number, 1)
	switch {
	case f.Do == Step:
		r.takeSteps(number)
		return nil
	case f.Do == Kill:
		return r.kill(f.At)
	case f.Do == FailPod:
		return r.failPod(f)
	case f.Do == StopNode || f.Do == RemoveNode:
		return r.strikesNode(f)
	case f.Do == Touch:
		return r.touch(f.At)
	case number > len(r.applied):
		return errNothing
	}
	obj := r.applied[number-1].DeepCopy()
	if f.Do == Delete {
		pending := len(r.users)
		r.dropCreation(obj)
		if err := r.deletePresent(policies[f.Policy], obj.GroupVersionKind(), nameOf(obj)); len(r.users) == pending {
			return err
		}
		return nil
	}
	r.dropCreation(obj) // of an earlier Recreate, which has not come to it yet
	_ = r.deleteApplied(policies[f.Policy], obj)
	r.do(pendingAction{end: r.sim.Now().Add(2 * r.options.Patience), name: "create again", creates: nameOfObject(obj), do: func(u *User) error { return u.createAgain(number) }})
	return nil
}

// dropCreation drops what would create an object again.
func (r *Run) dropCreation(obj *unstructured.Unstructured) {
	r.users = slices.DeleteFunc(r.users, func(a pendingAction) bool { return a.creates == nameOfObject(obj) })
}

// createAgain creates an object that was deleted, with what users have changed of it meanwhile.
func (u *User) createAgain(number int) error {
	if u.run.deleting {
		return nil
	}
	obj := u.run.applied[number-1].DeepCopy()
	_, err := u.Cluster().Create(context.Background(), obj, metav1.CreateOptions{})
	if err == nil {
		u.run.tell("user", "creates %s again", nameOfObject(obj))
	}
	return err
}

var errNothing = errors.New("there is no such object")

func (r *Run) deleteApplied(policy metav1.DeletionPropagation, obj *unstructured.Unstructured) error {
	return (&User{r}).DeleteAs(policy, obj.GroupVersionKind(), nameOf(obj).String())
}

// kindNamed returns the kind that a site names.
func (r *Run) kindNamed(name string) (kind schema.GroupVersionKind, ok bool) {
	for k := range r.logs {
		if k.Kind == name && (!ok || k.String() < kind.String()) {
			kind, ok = k, true
		}
	}
	return kind, ok
}

// kill deletes the object that an event is about, unless users applied it: they delete theirs. What was
// there before the scenario stays.
func (r *Run) kill(at Site) error {
	kind, ok := r.kindNamed(at.Kind)
	applied := func(o *unstructured.Unstructured) bool { return o.GetKind() == at.Kind && nameOf(o) == at.Key }
	if !ok || slices.ContainsFunc(r.applied, applied) || r.given[at.Kind+" "+at.Key.String()] {
		return errNothing
	}
	return r.deletePresent(metav1.DeletePropagationBackground, kind, at.Key)
}

// deletePresent deletes an object unless that is done already.
func (r *Run) deletePresent(policy metav1.DeletionPropagation, kind schema.GroupVersionKind, name types.NamespacedName) error {
	obj, err := r.shared.Get(context.Background(), kind, name)
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return errNothing
	}
	return (&User{r}).DeleteAs(policy, kind, name.String())
}

// touch annotates the object of the key that is reconciled: the twin has it also.
func (r *Run) touch(at Site) error {
	kind, ok := r.keys[r.subjectOf(at.Process)+"/"+at.Controller]
	obj, err := r.shared.Get(context.Background(), kind, at.Key)
	if !ok || err != nil || obj.GetDeletionTimestamp() != nil {
		return errNothing
	}
	r.touched = append(r.touched, obj)
	return (&User{r}).Patch(kind, at.Key.String(), `{"metadata":{"annotations":{"`+touched+`":"true"}}}`)
}

// touched is the annotation of objects that were touched.
const touched = "hunt/touched"

// replacedSince are the objects that were touched and were then made again, as a state names them.
// Whether they were touched depends on when they were made again.
func (r *Run) replacedSince() (names []string) {
	for _, obj := range r.touched {
		now, err := r.shared.Get(context.Background(), obj.GroupVersionKind(), nameOf(obj))
		if err == nil && now.GetUID() != obj.GetUID() {
			names = append(names, obj.GetKind()+" "+nameOf(obj).String())
		}
	}
	return names
}

// untouched is a state in which no user has touched the objects of some names.
func untouched(state map[string]any, names []string) map[string]any {
	for _, name := range names {
		obj, _ := state[name].(map[string]any)
		annotations, ok := object.Map(obj, "metadata", "annotations")
		if !ok || annotations[touched] == nil {
			continue
		}
		annotations, metadata := maps.Clone(annotations), maps.Clone(obj["metadata"].(map[string]any))
		delete(annotations, touched)
		if metadata["annotations"] = annotations; len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		obj = maps.Clone(obj)
		obj["metadata"] = metadata
		state = maps.Clone(state)
		state[name] = obj
	}
	return state
}

// nameOfObject is "Deployment default/a".
func nameOfObject(obj *unstructured.Unstructured) string {
	return obj.GetKind() + " " + nameOf(obj).String()
}
