package bindingpolicy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An other is what was observed of a BindingPolicy of somebody else.
type other struct {
	policy  *control.BindingPolicy // nil: it does not exist, or was not shown
	binding *control.Binding       // nil: it does not exist
}

// other returns what was observed of a BindingPolicy of somebody else, empty at first.
func (r *Rollout) other(name string) *other {
	o := r.others[name]
	if o == nil {
		o = &other{}
		r.others[name] = o
	}
	return o
}

// refs returns the objects that it brings to clusters.
func (o *other) refs() (all []fleet.ObjectRef) {
	for _, c := range slices.Concat(o.binding.Spec.Workload.ClusterScope, o.binding.Spec.Workload.NamespaceScope) {
		all = append(all, fleet.ObjectRef{Group: c.Group, Resource: c.Resource, Namespace: c.Namespace, Name: c.Name})
	}
	return all
}

// has returns the clusters that it holds, sorted.
func (o *other) has() (names []string) {
	for _, d := range o.binding.Spec.Destinations {
		names = append(names, d.ClusterID)
	}
	slices.Sort(names)
	return names
}

// adopts reports whether spec.adopt names a BindingPolicy.
func (r *Rollout) adopts(name string) bool {
	for _, a := range r.core.Policy().Definition().Spec.Adopt {
		if a.BindingPolicy == name {
			return true
		}
	}
	return false
}

// adopted returns the placements that spec.adopt names and that exist.
func (r *Rollout) adopted() (all []fleet.Placement) {
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		o := r.others[name]
		if !r.adopts(name) || o.policy == nil && o.binding == nil {
			continue
		}
		p := fleet.Placement{Name: name}
		if o.policy != nil {
			p.UID, p.Ending = o.policy.UID, o.policy.DeletionTimestamp != nil
		}
		if p.Ready = o.binding != nil; p.Ready {
			p.Has = o.has()
			for _, ref := range o.refs() {
				p.Objects = append(p.Objects, &fleet.Object{Clause: control.DownsyncClause{Group: ref.Group, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name}})
			}
		}
		all = append(all, p)
	}
	return all
}

// conflicts returns the Bindings of others that hold objects of the workload in clusters that a stage
// selects or a placement holds. The policy that holds a cluster first goes on there.
func (r *Rollout) conflicts(w fleet.World) (all []v1alpha1.Conflict) {
	own := r.ownRefs(w)
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		o := r.others[name]
		if o.binding == nil || r.adopts(name) {
			continue
		}
		refs := slices.DeleteFunc(o.refs(), func(ref fleet.ObjectRef) bool { return !own[ref] && (len(own) > 0 || !r.copies(o.policy)) })
		first, later := v1alpha1.Conflict{Owner: "BindingPolicy " + name, First: true}, v1alpha1.Conflict{Owner: "BindingPolicy " + name}
		for _, cluster := range o.has() {
			switch mine := r.bindingOf(cluster); {
			case len(refs) == 0:
			case mine != nil && isFirst(mine, o.binding):
				first.Clusters = append(first.Clusters, cluster)
			case mine != nil || r.core.Policy().Selects(r.clusters[cluster]):
				later.Clusters = append(later.Clusters, cluster)
			}
		}
		for _, c := range []v1alpha1.Conflict{first, later} {
			if len(c.Clusters) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// ownRefs returns the objects of the workload: from the hub, or, where the hub is not
// read, from Bindings.
func (r *Rollout) ownRefs(w fleet.World) map[fleet.ObjectRef]bool {
	own := map[fleet.ObjectRef]bool{}
	for _, o := range w.Workload.Objects {
		own[o.Ref()] = true
	}
	for _, s := range r.observed {
		if s.foreign || !s.isBound() {
			continue
		}
		for _, o := range s.bound {
			own[o.ref] = true
		}
	}
	return own
}

// copies reports whether all clauses of a BindingPolicy are clauses of the policy, so that its objects
// are objects of the policy.
func (r *Rollout) copies(p *control.BindingPolicy) bool {
	if p == nil {
		return false
	}
	return !slices.ContainsFunc(p.Spec.Downsync, func(c control.DownsyncPolicyClause) bool {
		c.DownsyncModulation = control.DownsyncModulation{}
		return !slices.ContainsFunc(r.core.Policy().Definition().Spec.Downsync, func(mine control.DownsyncPolicyClause) bool {
			mine.DownsyncModulation = control.DownsyncModulation{}
			return equality.Semantic.DeepEqual(c, mine)
		})
	})
}

// bindingOf returns the first Binding of the policy that holds a cluster; nil without one.
func (r *Rollout) bindingOf(cluster string) (first *control.Binding) {
	for _, s := range r.observed {
		if !s.foreign && s.isBound() && slices.Contains(s.has, cluster) && (first == nil || isFirst(s.binding, first)) {
			first = s.binding
		}
	}
	return first
}

// isFirst reports whether a Binding was there before another one.
func isFirst(a, b *control.Binding) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}
