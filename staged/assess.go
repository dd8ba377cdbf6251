package staged

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An assessment is what the observations say about a started stage.
type assessment struct {
	finding              // whether condition and guards hold
	bound           bool // all BindingPolicies of the stage have their Bindings
	hasDestinations bool // the Bindings have a destination, or need none
	noDestinations  bool // the Bindings have no destination at all
	unreportable    bool // KubeStellar will never report one of the objects
	failing         bool // failureCondition is true for an object
	failure         string
	counts          v1alpha1.Counts
}

// assess assesses a stage that was started.
func (d *decider) assess(i int) assessment {
	rec := d.Status.Stages[i]
	a := d.newAssessor(i)
	if d.policy.stages[i].isBatched() {
		for _, b := range rec.Batches[rec.StartedBatches:] {
			a.waiting += len(b.Clusters)
		}
	}
	for _, p := range d.begun(i) {
		if !p.absent {
			d.assessPlacement(a, p, rec.StartedAt)
		}
	}
	a.checkGuards()
	return a.assessment
}

// assessCluster assesses one cluster of a stage with perCluster.
func (d *decider) assessCluster(s *stage, rec *v1alpha1.StageStatus, p placement) assessment {
	a := d.newAssessor(p.stage)
	a.waiting = len(rec.Batches)
	d.assessPlacement(a, p, rec.Batches[p.batch].StartedAt)
	a.checkGuards()
	return a.assessment
}

// missing says what does not exist yet of a BindingPolicy; "" if nothing is missing.
func (d *decider) missing(p placement) string {
	state := d.observed[p.name]
	switch {
	case state != nil && state.foreign:
		return fmt.Sprintf("BindingPolicy %s belongs to somebody else", p.name)
	case state == nil || state.policy == nil:
		return fmt.Sprintf("BindingPolicy %s does not exist yet", p.name)
	case state.policy.DeletionTimestamp != nil:
		return fmt.Sprintf("BindingPolicy %s is being deleted, and is created again after that", p.name)
	case d.isOutdated(p):
		return fmt.Sprintf("BindingPolicy %s is not updated yet", p.name)
	case state.binding == nil:
		return fmt.Sprintf("BindingPolicy %s has no Binding yet", p.name)
	case !state.isBound():
		return fmt.Sprintf("the Binding %s is that of an earlier BindingPolicy", p.name)
	case d.policy.stagesUpdates() && !p.frozen && !state.isThawed():
		return fmt.Sprintf("the Binding %s does not let new versions through yet", p.name)
	}
	return ""
}

// isOutdated reports whether a BindingPolicy that exists has to be updated first: its version, or
// what it places where, is not what it must be.
func (d *decider) isOutdated(p placement) bool {
	d.acceptAdopted(p)
	rec := d.owned(p.name)
	return rec == nil || rec.Removing || versionOf(d.observed[p.name].policy) != rec.Version || rec.Spec != d.specHash(p)
}

// An assessor makes an assessment.
type assessor struct {
	assessment
	stage     *stage
	addLine   func(Line)           // receives every finding; nil: only the worst is kept
	late      map[string]ObjectRef // destinations that have not reported the present version of some object
	unchecked int                  // objects for which that is not known
	waiting   int                  // clusters of batches that have not begun
	workload  int                  // objects in the Bindings
	clusters  int                  // that the selectors choose from; -1: not known
}

func (d *decider) newAssessor(i int) *assessor {
	a := &assessor{stage: d.policy.stages[i], addLine: d.addLine, late: map[string]ObjectRef{}, clusters: -1,
		assessment: assessment{finding: finding{Satisfaction: Satisfied}, bound: true}}
	if d.clusters != nil {
		a.clusters = len(d.clusters)
	}
	return a
}

// add adds a finding. The worst finding counts; among equals, the first.
func (a *assessor) add(ref ObjectRef, found finding) {
	if a.addLine != nil {
		a.addLine(Line{Stage: a.stage.Name, Object: ref, Satisfaction: found.Satisfaction, Text: found.reason})
	}
	if found.Satisfaction < a.Satisfaction {
		a.finding = found
		if ref != (ObjectRef{}) {
			a.reason = ref.String() + ": " + found.reason
		}
	}
}

// addObjects adds the objects of one BindingPolicy.
func (a *assessor) addObjects(e *evaluator) {
	a.counts.Destinations += int32(len(e.binding.Spec.Destinations))
	a.workload += len(e.bound)
	late := new(big.Int)
	for _, o := range e.bound {
		switch kept := e.filter(o); kept.Satisfaction {
		case Unknown:
			a.counts.Objects++
			a.counts.Unknown++
			a.add(o.ref, kept)
		case Satisfied:
			a.counts.Objects++
			if a.stage.condition != nil {
				a.addObject(e, o, late)
			}
		}
	}
}

// addObject adds one object, and the destinations that are late with it.
func (a *assessor) addObject(e *evaluator, o *objectState, late *big.Int) {
	r := e.result(o)
	switch r.condition.Satisfaction {
	case Satisfied:
		a.counts.Satisfied++
	case Unknown:
		a.counts.Unknown++
	}
	a.unreportable = a.unreportable || r.unreportable
	if r.failing && !a.failing {
		a.failing, a.failure = true, fmt.Sprintf("failureCondition is true for %s in %s: %s", o.ref, e.clusterText(), e.failureText(o))
	}
	switch {
	case r.late == nil:
		a.unchecked++
	case new(big.Int).AndNot(r.late, late).Sign() != 0:
		late.Or(late, r.late)
		for i, dest := range e.binding.Spec.Destinations {
			if _, known := a.late[dest.ClusterID]; !known && r.late.Bit(i) == 1 {
				a.late[dest.ClusterID] = o.ref
			}
		}
	}
	switch {
	case a.addLine != nil:
		e.explain(o, r, a)
	case r.condition.Satisfaction < a.Satisfaction && len(e.binding.Spec.Destinations) > 0:
		a.finding = finding{r.condition.Satisfaction, o.ref.String() + " in " + e.clusterText() + ": " + e.reason(o, r)}
	}
}

// withReason gives a finding without a reason that of a condition that is not true.
func withReason(found finding, s *stage) finding {
	if found.reason == "" {
		found.reason = "the condition is not true: " + s.Condition
	}
	return found
}

// checkGuards checks the guards that concern the stage, not single objects.
func (a *assessor) checkGuards() {
	if !a.bound {
		return
	}
	total := int(a.counts.Destinations)
	a.noDestinations = total == 0
	a.hasDestinations = total > 0 || a.stage.minDestinations() == 0
	if have, want := total+a.waiting, a.stage.minDestinations(); have < want {
		a.add(ObjectRef{}, unsatisfied("%d destinations, want at least %d%s", have, want, a.choice()))
	}
	switch {
	case a.stage.guards.AllowEmpty:
	case a.workload == 0:
		a.add(ObjectRef{}, unsatisfied("the Binding holds no object"))
	case a.counts.Objects == 0:
		a.add(ObjectRef{}, unsatisfied("the filter keeps none of %d objects", a.workload))
	}
	a.checkLate(total)
}

// choice says from how many clusters the selectors choose.
func (a *assessor) choice() string {
	if a.clusters < 0 {
		return ""
	}
	return fmt.Sprintf(" of the %d clusters", a.clusters)
}

// checkLate checks how many destinations are late. At least one must not be.
func (a *assessor) checkLate(total int) {
	allowed := min(a.stage.maxSilent.of(total), total-1)
	if len(a.late) > max(0, allowed) {
		names := slices.Sorted(maps.Keys(a.late))
		a.add(ObjectRef{}, unsatisfied("no status of the bound workload from %s (%s)", firstOf(names, ", "), a.lateText(names)))
	}
	if a.addLine != nil && a.unchecked > 0 {
		a.addLine(Line{Stage: a.stage.Name, Satisfaction: Satisfied,
			Text: fmt.Sprintf("not checked for %d objects, because nobody says which clusters reported when: silence, age, maxSilent", a.unchecked)})
	}
}

// lateText names an object of which the status is missing, and, if there are others, how many
// clusters miss another one first.
func (a *assessor) lateText(names []string) string {
	first, others := a.late[names[0]], 0
	for _, name := range names {
		if a.late[name] != first {
			others++
		}
	}
	if others == 0 {
		return first.String()
	}
	return fmt.Sprintf("%s; %d clusters lack another one", first, others)
}

// clusterText names the destinations.
func clusterText(all []control.Destination) string {
	var names []string
	for _, d := range all[:min(3, len(all))] {
		names = append(names, d.ClusterID)
	}
	text := cmp.Or(strings.Join(names, ", "), "no cluster")
	if more := len(all) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
