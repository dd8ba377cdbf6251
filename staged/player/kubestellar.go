package player

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// The kinds of KubeStellar that a Player reads.
var (
	bindingPolicyKind  = control.GroupVersion.WithKind("BindingPolicy")
	bindingKind        = control.GroupVersion.WithKind("Binding")
	combinedStatusKind = control.GroupVersion.WithKind("CombinedStatus")
	workStatusKind     = control.GroupVersion.WithKind("WorkStatus")
	collectorKind      = control.GroupVersion.WithKind("StatusCollector")
)

// kubeStellar is the Transport that makes BindingPolicies.
type kubeStellar struct {
	hub      transport.Transport
	options  *Options
	cache    cache
	space    *space                            // nil: K0
	rollouts map[string]*bindingpolicy.Rollout // by policy
	uids     map[string]types.UID
	made     map[string]making // how often a BindingPolicy was created of late
}

func newKubeStellar(hub transport.Transport, o *Options) *kubeStellar {
	k := &kubeStellar{hub: hub, options: o, cache: newCache(), rollouts: map[string]*bindingpolicy.Rollout{}, uids: map[string]types.UID{}, made: map[string]making{}}
	if o.WorkStatuses != nil {
		k.cache.workStatuses = newWorkStatuses()
	}
	if o.Space != nil {
		k.space = newSpace()
	}
	return k
}

func (k *kubeStellar) Kinds() map[schema.GroupVersionKind]transport.Reader {
	kinds := map[schema.GroupVersionKind]transport.Reader{bindingPolicyKind: k.hub, bindingKind: k.hub, combinedStatusKind: k.hub}
	if k.options.WorkStatuses != nil {
		kinds[workStatusKind] = k.options.WorkStatuses
	}
	if k.options.Space != nil {
		kinds[workStatusKind], kinds[manifestWorkKind], kinds[collectorKind] = k.options.Space, k.options.Space, k.hub
	}
	return kinds
}

func (k *kubeStellar) Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted bool) ([]string, error) {
	e := watchEvent{kind: kind, obj: obj, deleted: deleted}
	if k.space != nil && (kind == workStatusKind || kind == manifestWorkKind || kind == collectorKind) {
		if err := k.space.observe(kind, obj, deleted); err != nil || k.cache.workStatuses == nil || kind != workStatusKind {
			return []string{""}, err
		}
	}
	if kind == workStatusKind {
		ref, err := k.cache.workStatuses.store(e)
		var concerned []string
		for name, r := range k.rollouts {
			if k.cache.workStatuses.show(ref, r) {
				concerned = append(concerned, name)
			}
		}
		return concerned, err
	}
	owner, err := k.cache.store(e)
	if err != nil {
		return []string{owner}, err
	}
	if r := k.rollouts[owner]; r != nil {
		k.cache.show(e, r)
	}
	if kind == combinedStatusKind {
		return []string{owner}, nil
	}
	for name, r := range k.rollouts { // it may place the same objects
		if name != owner {
			k.cache.show(e, r)
		}
	}
	return []string{""}, nil
}

// rollout returns what was observed around a policy.
func (k *kubeStellar) rollout(v View) *bindingpolicy.Rollout {
	name := v.Policy.Name()
	r := k.rollouts[name]
	if r == nil || k.uids[name] != v.Meta.UID {
		r = bindingpolicy.NewRollout(v.Policy)
		r.Update(v.Policy, v.Meta)
		k.cache.showAll(name, r)
		k.rollouts[name], k.uids[name] = r, v.Meta.UID
	}
	r.Update(v.Policy, v.Meta)
	return r
}

func (k *kubeStellar) World(v View) fleet.World {
	r := k.rollout(v)
	if k.options.Clusters != nil {
		r.ObserveClusters(k.options.Clusters())
	}
	if k.options.Reports != nil {
		for _, report := range k.options.Reports(v.Policy.Name()) {
			r.ObserveReport(report)
		}
	}
	if k.space != nil {
		k.space.show(v, r)
	}
	return r.World(v.Status, v.Now)
}

// Differs reports whether a BindingPolicy has to be written. One that is being deleted can be created
// again only when it is gone.
func (k *kubeStellar) Differs(v View, p fleet.Placement) bool {
	want, old := bindingpolicy.Manifest(v.Policy, v.Meta, p), k.rollout(v).BindingPolicy(p.Name)
	if old == nil {
		return true
	}
	return old.DeletionTimestamp == nil && (!equalAsStored(old.Spec, want.Spec) || len(want.OwnerReferences) > 0 && !owns(old, v.Meta.UID) ||
		old.Annotations[v1alpha1.VersionAnnotation] != want.Annotations[v1alpha1.VersionAnnotation])
}

func owns(p *control.BindingPolicy, uid types.UID) bool {
	for _, o := range p.OwnerReferences {
		if o.UID == uid {
			return true
		}
	}
	return false
}

// Place creates a BindingPolicy, or updates its spec, its version and its owner.
func (k *kubeStellar) Place(ctx context.Context, v View, p fleet.Placement, _ fleet.Snapshot) ([]staged.Event, error) {
	if !k.Differs(v, p) {
		return nil, nil
	}
	r, want := k.rollout(v), bindingpolicy.Manifest(v.Policy, v.Meta, p)
	old := r.BindingPolicy(p.Name)
	stored, err := k.write(ctx, old, want)
	if err != nil {
		return nil, err
	}
	if err := k.observeWritten(r, stored); err != nil {
		return nil, err
	}
	if old == nil {
		return []staged.Event{{Type: "Normal", Reason: "BindingPolicyCreated", Message: "created BindingPolicy " + p.Name}}, nil
	}
	return []staged.Event{{Type: "Normal", Reason: "BindingPolicyUpdated", Message: "updated BindingPolicy " + p.Name}}, nil
}

// write creates a BindingPolicy, or patches the old one, if it was not written since it was read.
// It returns what is stored then.
func (k *kubeStellar) write(ctx context.Context, old, want *control.BindingPolicy) (*unstructured.Unstructured, error) {
	if old == nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
		if err != nil {
			return nil, err
		}
		delete(fields["metadata"].(map[string]any), "creationTimestamp")
		return k.hub.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	}
	metadata := map[string]any{"uid": old.UID, "resourceVersion": old.ResourceVersion, "annotations": want.Annotations}
	if refs := want.OwnerReferences; len(refs) > 0 && !owns(old, refs[0].UID) {
		metadata["ownerReferences"] = want.OwnerReferences
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": metadata,
		"spec":     map[string]any{"clusterSelectors": want.Spec.ClusterSelectors, "downsync": want.Spec.Downsync},
	})
	if err != nil {
		return nil, err
	}
	return k.hub.Patch(ctx, bindingPolicyKind, types.NamespacedName{Name: want.Name}, types.MergePatchType, patch, metav1.PatchOptions{})
}

// Disown takes the owner references off a BindingPolicy.
func (k *kubeStellar) Disown(ctx context.Context, v View, name string) error {
	r := k.rollout(v)
	seen := r.BindingPolicy(name)
	if seen == nil || len(seen.OwnerReferences) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": seen.UID, "resourceVersion": seen.ResourceVersion, "ownerReferences": nil}})
	if err != nil {
		return err
	}
	stored, err := k.hub.Patch(ctx, bindingPolicyKind, types.NamespacedName{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return k.observeWritten(r, stored)
}

// observeWritten shows a rollout a BindingPolicy that was just written.
func (k *kubeStellar) observeWritten(r *bindingpolicy.Rollout, stored *unstructured.Unstructured) error {
	written := new(control.BindingPolicy)
	if err := convert(stored, written); err != nil {
		return err
	}
	r.ObserveBindingPolicy(written)
	return nil
}

// Remove deletes the BindingPolicy that was seen under a name.
func (k *kubeStellar) Remove(ctx context.Context, v View, name string) ([]staged.Event, error) {
	r := k.rollout(v)
	seen := r.BindingPolicy(name)
	if seen == nil {
		return nil, nil
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion}}
	if err := k.hub.Delete(ctx, bindingPolicyKind, types.NamespacedName{Name: name}, options); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	r.ForgetBindingPolicy(name)
	return []staged.Event{{Type: "Normal", Reason: "BindingPolicyDeleted", Message: "deleted BindingPolicy " + name}}, nil
}

// equalAsStored compares specs as an API server stores them: an empty list is an absent one.
func equalAsStored(a, b control.BindingPolicySpec) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

// pollInterval is how often a Player calls Options.Clusters and Options.Reports at least: it is
// not told when their results change.
const pollInterval = 10 * time.Second
