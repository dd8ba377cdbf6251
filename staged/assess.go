package staged

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

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
	s, rec := d.policy.stages[i], d.Status.Stages[i]
	a := &assessor{stage: s, addLine: d.addLine, late: map[string]bool{},
		assessment: assessment{finding: finding{Satisfaction: Satisfied}, bound: true}}
	if s.maxConcurrency != nil {
		for _, b := range rec.Batches[rec.Batch:] {
			a.waiting += len(b.Clusters)
		}
	}
	for _, name := range d.names(i) {
		state := d.observed[name]
		if state == nil || !state.isBound() {
			a.bound = false
			a.add(ObjectRef{}, unknown("%s", missing(state, name)))
			continue
		}
		a.addObjects(&evaluator{stage: s, bindingPolicyState: state, since: rec.StartedAt.Time, now: d.now})
	}
	a.checkGuards()
	return a.assessment
}

// missing says what does not exist yet of a BindingPolicy.
func missing(state *bindingPolicyState, name string) string {
	switch {
	case state == nil || state.policy == nil:
		return fmt.Sprintf("BindingPolicy %s does not exist yet", name)
	case state.binding == nil:
		return fmt.Sprintf("BindingPolicy %s has no Binding yet", name)
	}
	return fmt.Sprintf("the Binding %s is that of an earlier BindingPolicy", name)
}

// An assessor makes an assessment.
type assessor struct {
	assessment
	stage     *stage
	addLine   func(Line)      // receives every finding; nil: only the worst is kept
	late      map[string]bool // destinations that have not reported the present version of some object
	unchecked int             // objects for which that is not known
	waiting   int             // clusters of batches that have not begun
	workload  int             // objects in the Bindings
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
	for i, d := range e.binding.Spec.Destinations {
		if late.Bit(i) == 1 {
			a.late[d.ClusterID] = true
		}
	}
}

// addObject adds one object, and sets the bits of the destinations that are late with it.
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
		a.failing, a.failure = true, fmt.Sprintf("failureCondition is true for %s", o.ref)
	}
	if r.late == nil {
		a.unchecked++
	} else {
		late.Or(late, r.late)
	}
	switch {
	case a.addLine != nil:
		e.explain(o, r, a)
	case r.condition.Satisfaction != Satisfied:
		a.add(o.ref, withReason(r.condition, a.stage))
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
		a.add(ObjectRef{}, unsatisfied("%d destinations, want at least %d", have, want))
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

// checkLate checks how many destinations are late. At least one must not be.
func (a *assessor) checkLate(total int) {
	allowed := min(a.stage.maxFailures.of(total), total-1)
	if len(a.late) > max(0, allowed) {
		names := slices.Sorted(maps.Keys(a.late))
		a.add(ObjectRef{}, unsatisfied("no status of the bound workload from %s", strings.Join(names, ", ")))
	}
	if a.addLine != nil && a.unchecked > 0 {
		a.addLine(Line{Stage: a.stage.Name, Satisfaction: Satisfied,
			Text: fmt.Sprintf("not checked for %d objects, because nobody says which clusters reported when: silence, age, maxFailures", a.unchecked)})
	}
}
