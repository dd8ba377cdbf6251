package staged

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// playing is one StagedBindingPolicy as a Player knows it.
type playing struct {
	rollout    *Rollout // nil: no version without faults was seen yet
	policy     *Policy
	uid        types.UID
	generation int64 // the last one that was seen
	compiled   int64 // the generation of policy
	fault      error // of the last generation
	status     v1alpha1.Status
	version    string    // of the StagedBindingPolicy that has this status
	written    string    // the version that the last write made, until the watch has shown it
	due        time.Time // of the next decision; zero is never
	events     []Event   // what has happened and was not announced yet
}

// awaited reports whether an event is older than the last write: events come in order, so all are until that of the write itself. After a list there is
// no telling; if that was older, the next write is a conflict, and the event of this one comes yet.
func (r *playing) awaited(n news) bool {
	if n.inList || r.written == "" || n.obj.GetUID() != r.uid {
		r.written = ""
		return false
	}
	if n.obj.GetResourceVersion() == r.written {
		r.written = ""
	}
	return true
}

// invalid is the condition of a policy whose last version has faults.
func (r *playing) invalid(now time.Time) metav1.Condition {
	c := metav1.Condition{
		Type: "Stalled", Status: metav1.ConditionTrue, ObservedGeneration: r.generation,
		Reason: "Invalid", Message: r.fault.Error(), LastTransitionTime: *second(now),
	}
	for _, old := range r.status.Conditions {
		if old.Type == c.Type && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return c
}

// carryOut does what a decision says, in its order, and stops at the first failure. It reports whether it wrote anything.
func (r *playing) carryOut(ctx context.Context, hub Writer, name string, d Decision) (changed bool, err error) {
	if !reflect.DeepEqual(d.Status, r.status) {
		changed = true
		if err := r.store(ctx, hub, name, d); err != nil {
			return changed, err
		}
	}
	for _, p := range d.Ensure {
		wrote, err := r.ensure(ctx, hub, p)
		changed = changed || wrote
		if err != nil {
			return changed, err
		}
	}
	for _, old := range d.Remove {
		changed = true
		if err := r.remove(ctx, hub, old); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// remove deletes the BindingPolicy that was seen under a name.
func (r *playing) remove(ctx context.Context, hub Writer, name string) error {
	uid := r.rollout.placed[name].policy.UID
	err := hub.Delete(ctx, policyKind, types.NamespacedName{Name: name}, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	r.rollout.ForgetPolicy(name)
	r.did("BindingPolicyDeleted", "deleted BindingPolicy %s", name)
	return nil
}

// store writes the status, if nobody has written the object since it was read.
func (r *playing) store(ctx context.Context, hub Writer, name string, d Decision) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": r.version, "uid": r.uid}, "status": d.Status})
	if err != nil {
		return err
	}
	stored, err := hub.Patch(ctx, stagedKind, types.NamespacedName{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	r.passed(r.status, d.Status)
	r.events = append(r.events, d.Events...)
	r.status = d.Status
	if version := stored.GetResourceVersion(); version != r.version { // otherwise nothing has changed, and there will be no event
		r.version, r.written = version, version
	}
	return nil
}

// ensure creates a BindingPolicy, or brings its spec up to date.
func (r *playing) ensure(ctx context.Context, hub Writer, want *control.BindingPolicy) (changed bool, err error) {
	pl := r.rollout.at(want.Name)
	if pl.policy != nil && same(pl.policy.Spec, want.Spec) {
		return false, nil
	}
	var stored *unstructured.Unstructured
	if pl.policy == nil {
		stored, err = create(ctx, hub, want)
	} else {
		spec := map[string]any{"clusterSelectors": want.Spec.ClusterSelectors, "downsync": want.Spec.Downsync}
		patch, failed := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pl.policy.UID}, "spec": spec})
		if failed != nil {
			return false, failed
		}
		stored, err = hub.Patch(ctx, policyKind, types.NamespacedName{Name: want.Name}, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return true, err
	}
	seen := new(control.BindingPolicy)
	if err := convert(stored, seen); err != nil {
		return true, err
	}
	if pl.policy == nil {
		r.did("BindingPolicyCreated", "created BindingPolicy %s", want.Name)
	} else {
		r.did("BindingPolicyUpdated", "updated BindingPolicy %s", want.Name)
	}
	r.rollout.ObservePolicy(seen)
	return true, nil
}

func create(ctx context.Context, hub Writer, p *control.BindingPolicy) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, err
	}
	delete(fields["metadata"].(map[string]any), "creationTimestamp")
	return hub.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
}

// same compares specs as they are stored: what is empty is absent.
func same(a, b control.BindingPolicySpec) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}
