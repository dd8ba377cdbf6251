package player

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

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// execute writes what a decision says, in its order, and stops at the first failure. It reports
// whether it tried to write anything.
func (s *policyState) execute(ctx context.Context, hub transport.Writer, name string, d bindingpolicy.Decision) (changed bool, err error) {
	var stale []*control.BindingPolicy
	for _, p := range d.Ensure {
		if s.differs(p) {
			stale = append(stale, p)
		}
	}
	// The status is written before anything else is, even if it has not changed: nothing may be
	// created, updated or removed on a status that is not the newest.
	if changed = !reflect.DeepEqual(d.Status, s.status); changed || len(stale)+len(d.Remove) > 0 {
		if err := s.writeStatus(ctx, hub, name, d); err != nil {
			return true, err
		}
	}
	for _, p := range stale {
		changed = true
		if err := s.ensure(ctx, hub, p); err != nil {
			return changed, err
		}
	}
	for _, old := range d.Remove {
		changed = true
		if err := s.remove(ctx, hub, old); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// remove deletes the BindingPolicy that was seen under a name.
func (s *policyState) remove(ctx context.Context, hub transport.Writer, name string) error {
	seen := s.rollout.BindingPolicy(name)
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion}}
	err := hub.Delete(ctx, bindingPolicyKind, types.NamespacedName{Name: name}, options)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.rollout.ForgetBindingPolicy(name)
	s.addEvent("BindingPolicyDeleted", "deleted BindingPolicy %s", name)
	return nil
}

// writeStatus writes the status. It fails with a conflict if somebody has written the object since
// it was read.
func (s *policyState) writeStatus(ctx context.Context, hub transport.Writer, name string, d bindingpolicy.Decision) error {
	fields, err := statusPatch(s.status, d.Status)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.version, "uid": s.uid},
		"status":   fields,
	})
	if err != nil {
		return err
	}
	stored, err := hub.Patch(ctx, stagedPolicyKind, types.NamespacedName{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	s.addStageEvents(s.status, d.Status)
	s.events = append(s.events, d.Events...)
	s.status, s.ours = d.Status, true
	if version := stored.GetResourceVersion(); version != s.version { // an equal version: nothing changed, no watch event follows
		s.version, s.written = version, version
	}
	return nil
}

// statusPatch returns the merge patch that makes a status of an old one: fields that are absent now
// are removed.
func statusPatch(old, now v1alpha1.Status) (map[string]any, error) {
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&old)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&now)
	if err != nil {
		return nil, err
	}
	for name := range before {
		if _, stays := fields[name]; !stays {
			fields[name] = nil
		}
	}
	return fields, nil
}

// differs reports whether a BindingPolicy has to be written. One that is being deleted can be
// created again only when it is gone.
func (s *policyState) differs(want *control.BindingPolicy) bool {
	old := s.rollout.BindingPolicy(want.Name)
	if old == nil {
		return true
	}
	return old.DeletionTimestamp == nil && (!equalAsStored(old.Spec, want.Spec) ||
		old.Annotations[v1alpha1.VersionAnnotation] != want.Annotations[v1alpha1.VersionAnnotation])
}

// ensure creates a BindingPolicy, or updates its spec and its version.
func (s *policyState) ensure(ctx context.Context, hub transport.Writer, want *control.BindingPolicy) error {
	old := s.rollout.BindingPolicy(want.Name)
	stored, err := write(ctx, hub, old, want)
	if err != nil {
		return err
	}
	seen := new(control.BindingPolicy)
	if err := convert(stored, seen); err != nil {
		return err
	}
	if old == nil {
		s.addEvent("BindingPolicyCreated", "created BindingPolicy %s", want.Name)
		s.noteCreated(want.Name, time.Now())
	} else {
		s.addEvent("BindingPolicyUpdated", "updated BindingPolicy %s", want.Name)
	}
	s.rollout.ObserveBindingPolicy(seen)
	return nil
}

// write creates a BindingPolicy, or patches the old one, if nobody has written it since it was
// read. It returns what is stored then.
func write(ctx context.Context, hub transport.Writer, old, want *control.BindingPolicy) (*unstructured.Unstructured, error) {
	if old == nil {
		return create(ctx, hub, want)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": old.UID, "resourceVersion": old.ResourceVersion, "annotations": want.Annotations},
		"spec":     map[string]any{"clusterSelectors": want.Spec.ClusterSelectors, "downsync": want.Spec.Downsync},
	})
	if err != nil {
		return nil, err
	}
	return hub.Patch(ctx, bindingPolicyKind, types.NamespacedName{Name: want.Name}, types.MergePatchType, patch, metav1.PatchOptions{})
}

func create(ctx context.Context, hub transport.Writer, p *control.BindingPolicy) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, err
	}
	delete(fields["metadata"].(map[string]any), "creationTimestamp")
	return hub.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
}

// equalAsStored compares specs as an API server stores them: an empty list is an absent one.
func equalAsStored(a, b control.BindingPolicySpec) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}
