package bindingpolicy

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An Observation is what was observed around a policy at one moment. What is missing in it counts
// as absent. The objects that it points to are not changed.
type Observation struct {
	// Meta is the metadata of the StagedBindingPolicy.
	Meta metav1.ObjectMeta
	// BindingPolicies, Bindings and Statuses may be those of all policies: others are ignored.
	BindingPolicies []*control.BindingPolicy
	Bindings        []*control.Binding
	Statuses        []*control.CombinedStatus
	// Reports say which clusters reported when. For an object without one, that is read from the
	// rows of its CombinedStatus, if they select inventory.name and
	// propagation.lastReturnedUpdateTimestamp. Otherwise it is not known, and not asked for.
	Reports []Report
	// Clusters are the labels of the clusters that exist, by name; nil: not known.
	Clusters map[string]map[string]string
	// Workload and Collectors are what the hub holds, and Delivered is what was delivered to the
	// clusters and reported there. Without a Workload these are not known: K0.
	Workload   *fleet.Workload
	Collectors map[string]*kubestellar.Collector
	Delivered  []fleet.Cluster
	// Gates are the objects of the hub that stages name as gates.
	Gates []fleet.Gate
}

// A Report says when the destinations of a BindingPolicy reported one object.
type Report struct {
	BindingPolicy string // its name
	Object        fleet.ObjectRef
	Clusters      []fleet.ClusterReport // a destination that is not here has not reported
}

// A Decision is a [staged.Decision], with the BindingPolicies that its placements ask for.
type Decision struct {
	staged.Decision

	// Ensure are the BindingPolicies that must exist, complete except for what the API server adds.
	// One that is being deleted has to be created again when it is gone.
	Ensure []*control.BindingPolicy
}

// A Rollout is a policy and what was observed around it.
type Rollout struct {
	core     *staged.Rollout
	meta     metav1.ObjectMeta
	observed map[string]*state // by the name of the BindingPolicy
	others   map[string]*other // those of somebody else, by name
	clusters map[string]map[string]string
	applied  map[string]fleet.Cluster // K1
	workload *fleet.Workload          // K1; nil: K0
	compiled map[string]*kubestellar.Collector
	answers  []fleet.Approval
	gates    []fleet.Gate
	selected bool // Selects of all states are those of clusters
}

// NewRollout returns a Rollout that was shown nothing yet.
func NewRollout(p *staged.Policy) *Rollout {
	return &Rollout{core: staged.NewRollout(p), observed: map[string]*state{}, others: map[string]*other{},
		meta: p.Definition().ObjectMeta, applied: map[string]fleet.Cluster{}}
}

// Update sets the version of the policy, and the metadata of the StagedBindingPolicy.
func (r *Rollout) Update(p *staged.Policy, meta metav1.ObjectMeta) {
	if r.core.Update(p); p.Name() != "" && meta.UID != r.meta.UID {
		for _, s := range r.observed {
			s.foreign = s.policy != nil && !r.owns(s.policy)
		}
	}
	r.meta = meta
}

// ObserveBindingPolicy shows the Rollout a BindingPolicy. One that belonged to an earlier
// StagedBindingPolicy of the same name, which does not exist any more, is taken over. One of another
// owner matters where it places the same objects, or where spec.adopt names it.
func (r *Rollout) ObserveBindingPolicy(p *control.BindingPolicy) {
	switch {
	case p == nil:
		return
	case !r.concerns(p.Name):
		r.other(p.Name).policy = p
		return
	}
	s := r.state(p.Name)
	s.foreign = !r.owns(p)
	if s.policy == nil || s.policy.UID != p.UID {
		s.changed()
	}
	s.policy, s.names, s.compiled, s.selects = p, nil, nil, nil
	r.selected = false
}

// ForgetBindingPolicy says that a BindingPolicy no longer exists.
func (r *Rollout) ForgetBindingPolicy(name string) {
	if o := r.others[name]; o != nil {
		o.policy = nil
	}
	if s := r.observed[name]; s != nil {
		s.policy, s.foreign, s.names, s.compiled, s.selects = nil, false, nil, nil, nil
	}
}

// ObserveBinding shows the Rollout a Binding. One of another policy matters where it places the same
// objects in the same clusters.
func (r *Rollout) ObserveBinding(b *control.Binding) {
	switch {
	case b == nil:
	case r.concerns(b.Name):
		r.state(b.Name).bind(b)
	default:
		r.other(b.Name).binding = b
	}
}

// ForgetBinding says that a Binding no longer exists.
func (r *Rollout) ForgetBinding(name string) {
	if o := r.others[name]; o != nil {
		o.binding = nil
	}
	if r.observed[name] != nil {
		r.observed[name].bind(nil)
	}
}

// ObserveStatus shows the Rollout a CombinedStatus. Its labels name its object and its
// BindingPolicy. It must be in the namespace of the object, or in [control.ReportNamespace] if that
// has none: KubeStellar writes it there, and a status of somebody who may write only elsewhere is not
// believed. Without a namespace, which none of a cluster is, it counts.
func (r *Rollout) ObserveStatus(s *control.CombinedStatus) {
	if s == nil || isForged(s) {
		return
	}
	if name := s.Labels[control.StatusLabelPrefix+"binding-policy"]; r.concerns(name) {
		r.state(name).object(objectOf(s)).addStatus(s)
	}
}

// ForgetStatus says that a CombinedStatus no longer exists. Of s only name and labels are read.
func (r *Rollout) ForgetStatus(s *control.CombinedStatus) {
	if s == nil || isForged(s) {
		return
	}
	if state := r.observed[s.Labels[control.StatusLabelPrefix+"binding-policy"]]; state != nil {
		state.object(objectOf(s)).removeStatus(s.Name)
	}
}

// ObserveReport shows the Rollout when clusters reported an object. It replaces the report before.
func (r *Rollout) ObserveReport(report Report) {
	if !r.concerns(report.BindingPolicy) {
		return
	}
	o := r.state(report.BindingPolicy).object(report.Object)
	if !o.known || !slices.Equal(o.returned, report.Clusters) {
		o.returned, o.known, o.made = report.Clusters, true, nil
	}
}

// ObserveClusters shows the Rollout which clusters exist, with their labels; nil: not known.
func (r *Rollout) ObserveClusters(clusters map[string]map[string]string) {
	if !reflect.DeepEqual(r.clusters, clusters) {
		r.selected = false
	}
	r.clusters = clusters
}

// ObserveWorkload shows the Rollout the workload as the hub holds it, and the collectors. From then
// on the content of revisions is known: K1.
func (r *Rollout) ObserveWorkload(w fleet.Workload, collectors map[string]*kubestellar.Collector) {
	r.workload, r.compiled = &w, collectors
}

// ObserveCluster shows the Rollout what was delivered to a cluster and reported there. Its labels are
// not read.
func (r *Rollout) ObserveCluster(c fleet.Cluster) { r.applied[c.Name] = c }

// ObserveAnswers shows the Rollout the approvals in objects of their own, and the objects that are
// gates.
func (r *Rollout) ObserveAnswers(approvals []fleet.Approval, gates []fleet.Gate) {
	r.answers, r.gates = approvals, gates
}

// BindingPolicy returns the BindingPolicy of this name that the Rollout was shown last, if it is one
// of the StagedBindingPolicy, or one that spec.adopt releases; nil without one.
func (r *Rollout) BindingPolicy(name string) *control.BindingPolicy {
	for _, a := range r.core.Policy().Definition().Spec.Adopt {
		if o := r.others[name]; a.BindingPolicy == name && a.Release && o != nil {
			return o.policy
		}
	}
	if s := r.observed[name]; s != nil && !s.foreign {
		return s.policy
	}
	return nil
}

// BindingPoliciesOf returns the names of the BindingPolicies under which an object was observed.
func (r *Rollout) BindingPoliciesOf(ref fleet.ObjectRef) (names []string) {
	for name, s := range r.observed {
		if s.objects[ref] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ObjectsOf returns the objects of a Binding, in its order; none if the Rollout was not shown it.
func (r *Rollout) ObjectsOf(binding string) (refs []fleet.ObjectRef) {
	if s := r.observed[binding]; s != nil {
		for _, o := range s.bound {
			refs = append(refs, o.ref)
		}
	}
	return refs
}

// Decide decides what [staged.Policy.Decide] decides, at a time of the hub.
func (r *Rollout) Decide(status v1alpha1.Status, now time.Time) Decision {
	return r.DecideAt(status, fleet.Instant{Time: now, Known: true})
}

// DecideAt is Decide at a time that may be wrong.
func (r *Rollout) DecideAt(status v1alpha1.Status, now fleet.Instant) Decision {
	d := Decision{Decision: r.core.Decide(status, r.World(status, now))}
	for _, p := range d.Place {
		d.Ensure = append(d.Ensure, Manifest(r.core.Policy(), r.meta, p))
	}
	return d
}

// Explain is [staged.Policy.Explain] for what the Rollout was shown.
func (r *Rollout) Explain(status v1alpha1.Status, now time.Time) []staged.Line {
	return r.core.Explain(status, r.World(status, fleet.Instant{Time: now, Known: true}))
}

// Decide decides from an Observation, at a time of the hub.
func Decide(p *staged.Policy, status v1alpha1.Status, seen Observation, now time.Time) Decision {
	return observe(p, seen).Decide(status, now)
}

// Explain explains what Decide decides.
func Explain(p *staged.Policy, status v1alpha1.Status, seen Observation, now time.Time) []staged.Line {
	return observe(p, seen).Explain(status, now)
}

// observe shows a new Rollout an Observation.
func observe(p *staged.Policy, seen Observation) *Rollout {
	r := NewRollout(p)
	r.Update(p, seen.Meta)
	r.ObserveClusters(seen.Clusters)
	r.ObserveAnswers(nil, seen.Gates)
	for _, b := range seen.BindingPolicies {
		r.ObserveBindingPolicy(b)
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
	if seen.Workload != nil {
		r.ObserveWorkload(*seen.Workload, seen.Collectors)
	}
	for _, c := range seen.Delivered {
		r.ObserveCluster(c)
	}
	return r
}

// owns reports whether a BindingPolicy belongs to the StagedBindingPolicy, or to an earlier one of
// its name: there is only one object of a name, so that the earlier one is gone.
func (r *Rollout) owns(p *control.BindingPolicy) bool {
	for _, o := range p.OwnerReferences {
		if o.Kind == v1alpha1.Kind && o.Name == r.core.Policy().Name() {
			return true
		}
	}
	return len(p.OwnerReferences) == 0 && p.Annotations[v1alpha1.VersionAnnotation] != ""
}

// concerns reports whether a name is one that the policy gives to BindingPolicies.
func (r *Rollout) concerns(bindingPolicy string) bool {
	return strings.HasPrefix(bindingPolicy, r.core.Policy().Name()+v1alpha1.StageSeparator)
}

// state returns what was observed of a BindingPolicy, empty at first.
func (r *Rollout) state(bindingPolicy string) *state {
	s := r.observed[bindingPolicy]
	if s == nil {
		s = &state{objects: map[fleet.ObjectRef]*object{}}
		r.observed[bindingPolicy] = s
	}
	return s
}

// objectOf returns the object that a CombinedStatus is about: its labels name it.
func objectOf(s *control.CombinedStatus) fleet.ObjectRef {
	label := func(name string) string { return s.Labels[control.StatusLabelPrefix+name] }
	return fleet.ObjectRef{Group: label("api-group"), Resource: label("resource"), Namespace: label("namespace"), Name: label("name")}
}

// isForged reports whether a CombinedStatus is in another namespace than its labels say.
func isForged(s *control.CombinedStatus) bool {
	return s.Namespace != "" && s.Namespace != cmp.Or(objectOf(s).Namespace, control.ReportNamespace)
}
