package bindingpolicy

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A state is what was observed of one BindingPolicy, its Binding and its objects.
type state struct {
	policy   *control.BindingPolicy // nil: it does not exist
	foreign  bool                   // it belongs to somebody else
	names    []string               // the clusters that policy names; nil: it has selectors
	compiled []labels.Selector      // of policy
	selects  []string               // the clusters that policy selects, sorted
	binding  *control.Binding       // nil: it does not exist yet
	has      []string               // the destinations of binding, sorted
	objects  map[fleet.ObjectRef]*object
	bound    []*object // the objects of the Binding, in its order
}

// An object is what was observed of one object under one BindingPolicy.
type object struct {
	ref      fleet.ObjectRef
	clause   *control.DownsyncClause
	statuses []*control.CombinedStatus // mostly one; that of a deleted BindingPolicy of the same name may still exist
	returned []fleet.ClusterReport
	known    bool          // whether returned is known
	made     *fleet.Object // nil: something has changed since
}

// bind sets the Binding; nil: it does not exist.
func (s *state) bind(b *control.Binding) {
	old := s.binding
	s.binding, s.bound = b, nil
	if b == nil {
		s.has = nil
		return
	}
	if old == nil || !slices.Equal(old.Spec.Destinations, b.Spec.Destinations) {
		s.has = make([]string, 0, len(b.Spec.Destinations))
		for _, d := range b.Spec.Destinations {
			s.has = append(s.has, d.ClusterID)
		}
		slices.Sort(s.has)
		s.changed()
	}
	for _, clauses := range [][]control.DownsyncClause{b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope} {
		for i := range clauses {
			c := &clauses[i]
			o := s.object(fleet.ObjectRef{Group: c.Group, Resource: c.Resource, Namespace: c.Namespace, Name: c.Name})
			if o.clause == nil || !reflect.DeepEqual(*o.clause, *c) {
				o.made = nil
			}
			o.clause = c
			s.bound = append(s.bound, o)
		}
	}
}

// changed makes all objects new ones for a caller that remembers results by address.
func (s *state) changed() {
	for _, o := range s.objects {
		o.made = nil
	}
}

// object returns what was observed of an object, empty at first.
func (s *state) object(ref fleet.ObjectRef) *object {
	o := s.objects[ref]
	if o == nil {
		o = &object{ref: ref}
		s.objects[ref] = o
	}
	return o
}

func (o *object) addStatus(s *control.CombinedStatus) {
	o.removeStatus(s.Name)
	o.statuses = append(o.statuses, s)
}

func (o *object) removeStatus(name string) {
	o.made = nil
	for i, s := range o.statuses {
		if s.Name == name {
			o.statuses = append(o.statuses[:i:i], o.statuses[i+1:]...)
			return
		}
	}
}

// shown returns the object for package staged, the same one until something changes.
func (o *object) shown(bindingPolicy string) *fleet.Object {
	if o.made != nil {
		return o.made
	}
	o.made = &fleet.Object{Clause: *o.clause, Returned: o.returned, ReturnedKnown: o.known}
	for _, s := range o.statuses {
		if !strings.HasSuffix(s.Name, "."+bindingPolicy) {
			continue
		}
		if o.made.Combined != nil { // only one of them is KubeStellar's
			o.made.Combined = nil
			break
		}
		o.made.Combined = s
	}
	if o.made.Combined == nil && len(o.statuses) > 1 {
		o.made.Missing = "there is no CombinedStatus yet, or more than one"
	}
	return o.made
}

// isBound reports whether the Binding exists and belongs to this BindingPolicy, not to a deleted one
// of the same name. A BindingPolicy that is being deleted has none.
func (s *state) isBound() bool {
	if s.policy == nil || s.policy.DeletionTimestamp != nil || s.binding == nil {
		return false
	}
	return slices.ContainsFunc(s.binding.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.policy.UID })
}

// isOpen reports whether the Binding lets new versions through.
func (s *state) isOpen() bool {
	return s.isBound() && !slices.ContainsFunc(s.bound, func(o *object) bool { return o.clause.CreateOnly })
}

// findSelected finds the clusters that the BindingPolicy selects among these.
func (s *state) findSelected(label string, clusters map[string]map[string]string) {
	if s.policy == nil || s.foreign {
		return
	}
	if s.names == nil && s.compiled == nil {
		s.names = namesOf(label, s.policy.Spec.ClusterSelectors)
		s.compiled = selectorsOf(s.policy)
	}
	s.selects = nil
	if s.names != nil {
		for _, name := range s.names {
			if clusters[name] != nil && clusters[name][label] == name {
				s.selects = append(s.selects, name)
			}
		}
		slices.Sort(s.selects)
		return
	}
	for name, have := range clusters {
		if slices.ContainsFunc(s.compiled, func(selector labels.Selector) bool { return selector.Matches(labels.Set(have)) }) {
			s.selects = append(s.selects, name)
		}
	}
	slices.Sort(s.selects)
}

// namesOf returns the clusters that selectors name; nil if they select by other labels.
func namesOf(label string, selectors []metav1.LabelSelector) []string {
	if len(selectors) != 1 || len(selectors[0].MatchLabels) > 0 || len(selectors[0].MatchExpressions) != 1 {
		return nil
	}
	if e := selectors[0].MatchExpressions[0]; e.Key == label && e.Operator == metav1.LabelSelectorOpIn {
		return e.Values
	}
	return nil
}

// selectorsOf compiles the cluster selectors of a BindingPolicy. Those with faults are left out:
// KubeStellar places nothing by them.
func selectorsOf(p *control.BindingPolicy) []labels.Selector {
	all := []labels.Selector{}
	for i := range p.Spec.ClusterSelectors {
		if s, err := metav1.LabelSelectorAsSelector(&p.Spec.ClusterSelectors[i]); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// placement returns the placement that the BindingPolicy is.
func (s *state) placement(name string, policy *staged.Policy) fleet.Placement {
	p := fleet.Placement{Name: name, Stage: strings.TrimPrefix(name, policy.Name()+v1alpha1.StageSeparator), Taken: s.foreign}
	if s.foreign {
		p.Waits = fmt.Sprintf("BindingPolicy %s belongs to somebody else", name)
		return p
	}
	p.Clusters, p.Selects = s.names, s.selects
	if p.Clusters == nil {
		p.Selectors = s.policy.Spec.ClusterSelectors
	}
	p.Version = versionOf(s.policy)
	p.Hold = len(s.policy.Spec.Downsync) > 0 && !slices.ContainsFunc(s.policy.Spec.Downsync, func(c control.DownsyncPolicyClause) bool { return !c.CreateOnly })
	p.Same = policy.Places(s.policy.Spec.Downsync, false)
	p.UID, p.Owned = s.policy.UID, len(s.policy.OwnerReferences) > 0
	p.Ending, p.Ready, p.Open = s.policy.DeletionTimestamp != nil, s.isBound(), s.isOpen()
	p.Errors = errorsOf(s)
	switch {
	case p.Ending:
		p.Waits = fmt.Sprintf("BindingPolicy %s is being deleted, and is created again after that", name)
	case s.binding == nil:
		p.Waits = fmt.Sprintf("BindingPolicy %s has no Binding yet", name)
	case !p.Ready:
		p.Waits = fmt.Sprintf("the Binding %s is that of an earlier BindingPolicy", name)
	default:
		p.Has = s.has
		for _, o := range s.bound {
			p.Objects = append(p.Objects, o.shown(string(s.policy.UID)))
		}
	}
	return p
}

// errorsOf returns what KubeStellar reports of a BindingPolicy and its Binding.
func errorsOf(s *state) (all []string) {
	if st := s.policy.Status; st != nil {
		all = append(all, st.Errors...)
		for _, c := range st.Conditions {
			if c.Type == "Ready" && c.Status == metav1.ConditionFalse && c.Message != "" {
				all = append(all, c.Message)
			}
		}
	}
	if s.binding != nil && s.binding.Status != nil {
		all = append(all, s.binding.Status.Errors...)
	}
	return all
}

// versionOf returns the version that a BindingPolicy carries; 0: none.
func versionOf(p *control.BindingPolicy) int64 {
	n, err := strconv.ParseInt(p.Annotations[v1alpha1.VersionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
