package staged

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// A Rollout is a Policy and what was observed of its surroundings. It decides what [Policy.Decide] decides, at a cost that
// grows with what has changed: verdicts on objects are kept.
//
// A Rollout must not be used from several goroutines at once. It keeps what it is shown, and changes none of it.
type Rollout struct {
	policy   *Policy
	meta     metav1.ObjectMeta
	placed   map[string]*placed // by the name of the BindingPolicy
	clusters map[string]map[string]string
}

// NewRollout returns a Rollout that has seen nothing.
func NewRollout(p *Policy) *Rollout {
	return &Rollout{policy: p, placed: map[string]*placed{}, meta: p.object.ObjectMeta}
}

// Update goes on with another version of the policy, and its metadata.
func (r *Rollout) Update(p *Policy, meta metav1.ObjectMeta) {
	if p != r.policy {
		for _, pl := range r.placed {
			pl.forgetVerdicts()
		}
	}
	r.policy, r.meta = p, meta
}

// ObservePolicy shows a BindingPolicy. One that the StagedBindingPolicy does not own is ignored.
func (r *Rollout) ObservePolicy(p *control.BindingPolicy) {
	if p == nil || !r.owns(p) {
		return
	}
	pl := r.at(p.Name)
	if pl.policy == nil || pl.policy.UID != p.UID {
		pl.forgetVerdicts()
	}
	pl.policy = p
}

// ForgetPolicy says that a BindingPolicy is gone.
func (r *Rollout) ForgetPolicy(name string) {
	if pl := r.placed[name]; pl != nil {
		pl.policy = nil
	}
}

// ObserveBinding shows a Binding.
func (r *Rollout) ObserveBinding(b *control.Binding) {
	if b != nil && r.concerns(b.Name) {
		r.at(b.Name).bind(b)
	}
}

// ForgetBinding says that a Binding is gone.
func (r *Rollout) ForgetBinding(name string) {
	if pl := r.placed[name]; pl != nil {
		pl.bind(nil)
	}
}

// ObserveStatus shows a CombinedStatus. Its labels name its object and its policy.
func (r *Rollout) ObserveStatus(s *control.CombinedStatus) {
	if s == nil {
		return
	}
	if name := s.Labels[labelPrefix+"binding-policy"]; r.concerns(name) {
		r.at(name).report(objectOf(s), func(o *sight) { o.see(s) })
	}
}

// ForgetStatus says that a CombinedStatus is gone. It is the last one that was seen.
func (r *Rollout) ForgetStatus(s *control.CombinedStatus) {
	if s == nil {
		return
	}
	if pl := r.placed[s.Labels[labelPrefix+"binding-policy"]]; pl != nil {
		pl.report(objectOf(s), func(o *sight) { o.unsee(s.Name) })
	}
}

// ObserveReport shows when clusters reported an object, in place of what was known of it.
func (r *Rollout) ObserveReport(report Report) {
	if !r.concerns(report.Policy) {
		return
	}
	if o := r.at(report.Policy).sight(report.Object); !o.reported || !slices.Equal(o.clusters, report.Clusters) {
		o.clusters, o.reported, o.verdict = report.Clusters, true, nil
	}
}

// ObserveClusters shows which clusters exist, with their labels.
func (r *Rollout) ObserveClusters(clusters map[string]map[string]string) { r.clusters = clusters }

// observe takes in all of an Observation.
func (r *Rollout) observe(seen Observation) {
	r.meta = seen.Meta
	r.clusters = seen.Clusters
	for _, p := range seen.Policies {
		r.ObservePolicy(p)
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
		return o.Kind == "StagedBindingPolicy" && o.Name == r.policy.Name() && o.UID == r.meta.UID
	})
}

// concerns recognises the names that the policy gives.
func (r *Rollout) concerns(name string) bool {
	return strings.HasPrefix(name, r.policy.Name()+separator)
}

func (r *Rollout) at(name string) *placed {
	pl := r.placed[name]
	if pl == nil {
		pl = &placed{name: name, sights: map[ObjectRef]*sight{}}
		r.placed[name] = pl
	}
	return pl
}

// placed is all that was seen of one BindingPolicy.
type placed struct {
	name    string
	policy  *control.BindingPolicy // nil: it does not exist
	binding *control.Binding       // nil: none yet
	sights  map[ObjectRef]*sight
	order   []*sight // those of the Binding, in its order
}

// bound reports whether the Binding is there, and is that of this policy, not of one that had its name before.
func (pl *placed) bound() bool {
	return pl.policy != nil && pl.binding != nil && slices.ContainsFunc(pl.binding.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.UID == pl.policy.UID
	})
}

func (pl *placed) bind(b *control.Binding) {
	old := pl.binding
	pl.binding, pl.order = b, nil
	if b == nil {
		return
	}
	if old == nil || !slices.Equal(old.Spec.Destinations, b.Spec.Destinations) {
		pl.forgetVerdicts()
	}
	for _, clauses := range [][]control.DownsyncClause{b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope} {
		for i := range clauses {
			c := &clauses[i]
			o := pl.sight(ObjectRef{c.Group, c.Resource, c.Namespace, c.Name})
			o.bind(c)
			pl.order = append(pl.order, o)
		}
	}
}

func (pl *placed) forgetVerdicts() {
	for _, o := range pl.sights {
		o.verdict, o.kept = nil, nil
	}
}

func (pl *placed) sight(ref ObjectRef) *sight {
	o := pl.sights[ref]
	if o == nil {
		o = &sight{ref: ref}
		pl.sights[ref] = o
	}
	return o
}

func (pl *placed) report(ref ObjectRef, change func(*sight)) {
	o := pl.sight(ref)
	change(o)
	o.verdict = nil
}
