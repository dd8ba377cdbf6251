package staged

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Rollout is a Policy and what was observed around it. It decides what [Policy.Decide] decides,
// at a cost that grows with what has changed: results for objects that have not changed are reused.
//
// A Rollout must not be used from several goroutines at once. It keeps the objects that it is
// shown, and does not change them.
type Rollout struct {
	policy   *Policy
	meta     metav1.ObjectMeta
	observed map[string]*bindingPolicyState // by the name of the BindingPolicy
	clusters map[string]map[string]string
	exceeded bool // the last decision had not enough budget
}

// NewRollout returns a Rollout that was shown nothing yet.
func NewRollout(p *Policy) *Rollout {
	return &Rollout{policy: p, observed: map[string]*bindingPolicyState{}, meta: p.object.ObjectMeta}
}

// Update sets the version of the policy, and the metadata of the StagedBindingPolicy.
func (r *Rollout) Update(p *Policy, meta metav1.ObjectMeta) {
	if p != r.policy {
		for _, state := range r.observed {
			state.forgetResults()
		}
	}
	r.policy, r.meta = p, meta
}

// ObserveBindingPolicy shows the Rollout a BindingPolicy. Of one that the StagedBindingPolicy does
// not own only the name matters: nothing else can have it.
func (r *Rollout) ObserveBindingPolicy(p *control.BindingPolicy) {
	if p == nil || !r.concerns(p.Name) {
		return
	}
	state := r.state(p.Name)
	if state.foreign = !r.owns(p); state.foreign {
		state.policy = nil
		return
	}
	if state.policy == nil || state.policy.UID != p.UID {
		state.forgetResults()
	}
	if state.policy == nil || !reflect.DeepEqual(state.policy.Spec.ClusterSelectors, p.Spec.ClusterSelectors) {
		state.selectors = selectorsOf(p)
	}
	state.policy = p
}

// ForgetBindingPolicy says that a BindingPolicy no longer exists.
func (r *Rollout) ForgetBindingPolicy(name string) {
	if state := r.observed[name]; state != nil {
		state.policy, state.foreign = nil, false
	}
}

// ObserveBinding shows the Rollout a Binding. One of another StagedBindingPolicy is ignored.
func (r *Rollout) ObserveBinding(b *control.Binding) {
	if b != nil && r.concerns(b.Name) {
		r.state(b.Name).bind(b)
	}
}

// ForgetBinding says that a Binding no longer exists.
func (r *Rollout) ForgetBinding(name string) {
	if state := r.observed[name]; state != nil {
		state.bind(nil)
	}
}

// ObserveStatus shows the Rollout a CombinedStatus. Its labels name its object and its
// BindingPolicy. It must be in the namespace of the object, or in [control.ReportNamespace] if that
// has none: KubeStellar writes it there, and who may write elsewhere only is not believed. Without a
// namespace, which none of a cluster is, it counts.
func (r *Rollout) ObserveStatus(s *control.CombinedStatus) {
	if s == nil || isForged(s) {
		return
	}
	if name := s.Labels[control.StatusLabelPrefix+"binding-policy"]; r.concerns(name) {
		r.state(name).change(objectOf(s), func(o *objectState) { o.addStatus(s) })
	}
}

// ForgetStatus says that a CombinedStatus no longer exists. Of s only name and labels are read.
func (r *Rollout) ForgetStatus(s *control.CombinedStatus) {
	if s == nil || isForged(s) {
		return
	}
	if state := r.observed[s.Labels[control.StatusLabelPrefix+"binding-policy"]]; state != nil {
		state.change(objectOf(s), func(o *objectState) { o.removeStatus(s.Name) })
	}
}

// ObserveReport shows the Rollout when clusters reported an object. It replaces the report before.
func (r *Rollout) ObserveReport(report Report) {
	if !r.concerns(report.BindingPolicy) {
		return
	}
	o := r.state(report.BindingPolicy).object(report.Object)
	if !o.reported || !slices.Equal(o.clusters, report.Clusters) {
		o.clusters, o.reported, o.result = report.Clusters, true, nil
	}
}

// ObserveClusters shows the Rollout which clusters exist, with their labels.
func (r *Rollout) ObserveClusters(clusters map[string]map[string]string) { r.clusters = clusters }

// BindingPolicy returns the BindingPolicy of this name that the Rollout was shown last; nil if
// there is none.
func (r *Rollout) BindingPolicy(name string) *control.BindingPolicy {
	if state := r.observed[name]; state != nil {
		return state.policy
	}
	return nil
}

// BindingPoliciesOf returns the names of the BindingPolicies under which an object was observed.
func (r *Rollout) BindingPoliciesOf(ref ObjectRef) (names []string) {
	for name, state := range r.observed {
		if state.objects[ref] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ObjectsOf returns the objects of a Binding, in its order; none if the Rollout was not shown it.
func (r *Rollout) ObjectsOf(binding string) (refs []ObjectRef) {
	if state := r.observed[binding]; state != nil {
		for _, o := range state.bound {
			refs = append(refs, o.ref)
		}
	}
	return refs
}

// observeAll shows the Rollout all of an Observation.
func (r *Rollout) observeAll(seen Observation) {
	r.meta = seen.Meta
	r.clusters = seen.Clusters
	for _, p := range seen.BindingPolicies {
		r.ObserveBindingPolicy(p)
	}
	for _, b := range seen.Bindings {
		r.ObserveBinding(b)
	}
	for _, s := range seen.Statuses {
		r.ObserveStatus(s)
	}
	for _, report := range seen.Reports {
		r.ObserveReport(report)
	}
}

func (r *Rollout) owns(p *control.BindingPolicy) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == v1alpha1.Kind && o.Name == r.policy.Name() && o.UID == r.meta.UID
	})
}

// concerns reports whether a name is one that the policy gives to BindingPolicies.
func (r *Rollout) concerns(bindingPolicy string) bool {
	return strings.HasPrefix(bindingPolicy, r.policy.Name()+v1alpha1.StageSeparator)
}

// state returns what was observed of a BindingPolicy, empty at first.
func (r *Rollout) state(bindingPolicy string) *bindingPolicyState {
	state := r.observed[bindingPolicy]
	if state == nil {
		state = &bindingPolicyState{objects: map[ObjectRef]*objectState{}}
		r.observed[bindingPolicy] = state
	}
	return state
}

// bindingPolicyState is what was observed of one BindingPolicy, its Binding and its objects.
type bindingPolicyState struct {
	policy    *control.BindingPolicy // nil: it does not exist
	foreign   bool                   // one exists that belongs to somebody else
	selectors []labels.Selector      // of the clusters of policy
	binding   *control.Binding       // nil: there is none yet
	objects   map[ObjectRef]*objectState
	bound     []*objectState // the objects of the Binding, in its order
}

// selectorsOf compiles the cluster selectors of a BindingPolicy. Those with faults are left out:
// KubeStellar places nothing by them.
func selectorsOf(p *control.BindingPolicy) (all []labels.Selector) {
	for i := range p.Spec.ClusterSelectors {
		if s, err := metav1.LabelSelectorAsSelector(&p.Spec.ClusterSelectors[i]); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// selects reports whether the BindingPolicy selects a cluster with these labels.
func (s *bindingPolicyState) selects(have map[string]string) bool {
	return slices.ContainsFunc(s.selectors, func(selector labels.Selector) bool { return selector.Matches(labels.Set(have)) })
}

// isBound reports whether the Binding exists and belongs to this BindingPolicy, not to a deleted
// one of the same name. A BindingPolicy that is being deleted has none.
func (s *bindingPolicyState) isBound() bool {
	if s.policy == nil || s.policy.DeletionTimestamp != nil || s.binding == nil {
		return false
	}
	return slices.ContainsFunc(s.binding.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.policy.UID })
}

// bind sets the Binding; nil: there is none.
func (s *bindingPolicyState) bind(b *control.Binding) {
	old := s.binding
	s.binding, s.bound = b, nil
	if b == nil {
		return
	}
	if old == nil || !slices.Equal(old.Spec.Destinations, b.Spec.Destinations) {
		s.forgetResults()
	}
	for _, clauses := range [][]control.DownsyncClause{b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope} {
		for i := range clauses {
			c := &clauses[i]
			o := s.object(ObjectRef{c.Group, c.Resource, c.Namespace, c.Name})
			o.bind(c)
			s.bound = append(s.bound, o)
		}
	}
}

func (s *bindingPolicyState) forgetResults() {
	for _, o := range s.objects {
		o.result, o.filtered = nil, nil
	}
}

// object returns what was observed of an object, empty at first.
func (s *bindingPolicyState) object(ref ObjectRef) *objectState {
	o := s.objects[ref]
	if o == nil {
		o = &objectState{ref: ref}
		s.objects[ref] = o
	}
	return o
}

// change changes what was observed of an object.
func (s *bindingPolicyState) change(ref ObjectRef, change func(*objectState)) {
	o := s.object(ref)
	change(o)
	o.result = nil
}
