package staged

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An assessment is what can be said of a stage from what was observed.
type assessment struct {
	answer          // whether the stage may be left, as far as the world is concerned
	placed   bool   // all its BindingPolicies have their Bindings
	reaches  bool   // and these have a destination, unless none is asked for
	empty    bool   // the Bindings have no destination at all
	hopeless bool   // an object will never be reported
	failing  bool   // failureCondition is true for an object
	failures string // of which
	counts   v1alpha1.Counts
}

// assess looks at the BindingPolicies of a stage that was started.
func (d *decider) assess(i int) assessment {
	s, rec := d.policy.stages[i], d.Status.Stages[i]
	a := &assessor{stage: s, tell: d.tell, assessment: assessment{answer: answer{Verdict: Satisfied}, placed: true}, late: map[string]bool{}}
	if s.maxConcurrency != nil {
		for _, b := range rec.Batches[rec.Batch:] {
			a.ahead += len(b.Clusters)
		}
	}
	for _, name := range d.names(i) {
		pl := d.placed[name]
		if pl == nil || !pl.bound() {
			a.placed = false
			a.find(ObjectRef{}, unknown("%s", missing(pl, name)))
			continue
		}
		a.policy(&judge{stage: s, placed: pl, since: rec.StartedAt.Time, now: d.now})
	}
	a.guards()
	return a.assessment
}

func missing(pl *placed, name string) string {
	switch {
	case pl == nil || pl.policy == nil:
		return fmt.Sprintf("BindingPolicy %s does not exist yet", name)
	case pl.binding == nil:
		return fmt.Sprintf("BindingPolicy %s has no Binding yet", name)
	}
	return fmt.Sprintf("the Binding %s is that of an earlier BindingPolicy", name)
}

// An assessor makes an assessment.
type assessor struct {
	assessment
	stage     *stage
	tell      func(Line)      // of every finding; nil: only the first that counts is kept
	late      map[string]bool // destinations that are silent or out of date for some object
	unchecked int             // objects of which that is not known
	ahead     int             // clusters of batches that have not begun
	workload  int
}

// find takes in an answer. The worst counts; among equals, the first.
func (a *assessor) find(ref ObjectRef, found answer) {
	if a.tell != nil {
		a.tell(Line{Stage: a.stage.Name, Object: ref, Verdict: found.Verdict, Text: found.why})
	}
	if found.Verdict < a.Verdict {
		a.answer = found
		if ref != (ObjectRef{}) {
			a.why = ref.String() + ": " + found.why
		}
	}
}

// policy takes in the objects of one BindingPolicy.
func (a *assessor) policy(j *judge) {
	a.counts.Destinations += int32(len(j.binding.Spec.Destinations))
	a.workload += len(j.order)
	late := new(big.Int)
	for _, o := range j.order {
		switch kept := j.keeps(o); kept.Verdict {
		case Unknown:
			a.counts.Objects++
			a.counts.Unknown++
			a.find(o.ref, kept)
		case Satisfied:
			a.counts.Objects++
			if a.stage.condition != nil {
				a.object(j, o, late)
			}
		}
	}
	for i, d := range j.binding.Spec.Destinations {
		if late.Bit(i) == 1 {
			a.late[d.ClusterID] = true
		}
	}
}

// object takes in one object, and adds the destinations that are late with it.
func (a *assessor) object(j *judge, o *sight, late *big.Int) {
	v := j.judge(o)
	switch v.condition.Verdict {
	case Satisfied:
		a.counts.Satisfied++
	case Unknown:
		a.counts.Unknown++
	}
	a.hopeless = a.hopeless || v.hopeless
	if v.failing && !a.failing {
		a.failing, a.failures = true, fmt.Sprintf("failureCondition is true for %s", o.ref)
	}
	if v.late == nil {
		a.unchecked++
	} else {
		late.Or(late, v.late)
	}
	switch {
	case a.tell != nil:
		j.explain(o, v, a)
	case v.condition.Verdict != Satisfied:
		a.find(o.ref, worded(v.condition, a.stage))
	}
}

// worded gives a verdict that has no reason that of the condition.
func worded(found answer, s *stage) answer {
	if found.why == "" {
		found.why = "the condition is not true: " + s.Condition
	}
	return found
}

// guards checks what holds for every stage.
func (a *assessor) guards() {
	if !a.placed {
		return
	}
	total := int(a.counts.Destinations)
	a.empty = total == 0
	a.reaches = total > 0 || a.stage.minDestinations() == 0
	if have, want := total+a.ahead, a.stage.minDestinations(); have < want {
		a.find(ObjectRef{}, unsatisfied("%d destinations, want at least %d", have, want))
	}
	switch {
	case a.stage.guards.AllowEmpty:
	case a.workload == 0:
		a.find(ObjectRef{}, unsatisfied("the Binding holds no object"))
	case a.counts.Objects == 0:
		a.find(ObjectRef{}, unsatisfied("the filter keeps none of %d objects", a.workload))
	}
	a.lateness(total)
}

// lateness counts the destinations that are silent or out of date. At least one must not be.
func (a *assessor) lateness(total int) {
	allowed := min(a.stage.maxFailures.of(total), total-1)
	if len(a.late) > max(0, allowed) {
		names := slices.Sorted(maps.Keys(a.late))
		a.find(ObjectRef{}, unsatisfied("no status of the bound workload from %s", strings.Join(names, ", ")))
	}
	if a.tell != nil && a.unchecked > 0 {
		a.tell(Line{Stage: a.stage.Name, Verdict: Satisfied,
			Text: fmt.Sprintf("not checked for %d objects, because nobody says which clusters reported when: silence, age, maxFailures", a.unchecked)})
	}
}

// String prints resource namespace/name, with the group where there is one.
func (o ObjectRef) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	if o.Group != "" {
		return o.Resource + "." + o.Group + " " + name
	}
	return o.Resource + " " + name
}
