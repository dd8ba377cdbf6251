package staged

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An assessment is what the observations say about a started stage.
type assessment struct {
	finding                           // whether condition and guards hold
	bound           bool              // all placements of the stage were taken over
	hasDestinations bool              // the placements hold a cluster, or need none
	noDestinations  bool              // the placements hold no cluster at all
	unreportable    bool              // KubeStellar will never report one of the objects
	failing         bool              // failureCondition is true for an object
	overdue         bool              // more deliveries take too long than may
	undelivered     map[string]string // clusters that are waited for and do not have the revision, and what they have
	evidence        fleet.Evidence    // the weakest that was used
	failure         string
	counts          v1alpha1.Counts
}

// assess assesses a stage that was started.
func (d *decider) assess(i int) assessment {
	rec := d.Status.Stages[i]
	a := d.newAssessor(i)
	if d.inWaves(i) {
		for _, b := range rec.Batches[rec.StartedBatches:] {
			a.waiting += len(b.Clusters)
		}
	}
	for _, w := range d.begun(i) {
		if !w.absent {
			d.assessWave(a, w, rec.StartedAt)
		}
	}
	a.checkGuards()
	return a.assessment
}

// assessCluster assesses one cluster of a stage with perCluster.
func (d *decider) assessCluster(rec *v1alpha1.StageStatus, w wave) assessment {
	a := d.newAssessor(w.stage)
	a.waiting = len(rec.Batches)
	d.assessWave(a, w, rec.Batches[w.batch].StartedAt)
	a.checkGuards()
	return a.assessment
}

// An assessor makes an assessment.
type assessor struct {
	assessment
	stage     *stage
	addLine   func(Line)                 // receives every finding; nil: only the worst is kept
	late      map[string]fleet.ObjectRef // destinations that have not reported the present version of some object
	unchecked int                        // objects for which that is not known
	waiting   int                        // clusters of batches that have not begun
	workload  int                        // objects that are placed
	clusters  int                        // that the selectors choose from; -1: not known
	setAside  int                        // clusters that the stage does not wait for: a delivery took too long
	revision  string                     // the name of the wanted revision, for texts
	content   bool                       // reports are known to be of a revision
}

func (d *decider) newAssessor(i int) *assessor {
	a := &assessor{stage: d.policy.stages[i], addLine: d.addLine, late: map[string]fleet.ObjectRef{}, clusters: -1, revision: d.revisionName(fleet.RevisionID(d.Status.Wanted)),
		assessment: assessment{finding: finding{Satisfaction: Satisfied}, bound: true, evidence: fleet.EvidenceExact, undelivered: map[string]string{}}}
	if a.content = d.seen.Can.Content; d.clusters != nil {
		a.clusters = len(d.clusters)
	}
	return a
}

// add adds a finding. The worst finding counts; among equals, the first.
func (a *assessor) add(ref fleet.ObjectRef, found finding) {
	if a.addLine != nil {
		a.addLine(Line{Stage: a.stage.Name, Object: ref, Satisfaction: found.Satisfaction, Text: found.reason})
	}
	if found.Satisfaction < a.Satisfaction {
		a.finding = found
		if ref != (fleet.ObjectRef{}) {
			a.reason = ref.String() + ": " + found.reason
		}
	}
}

// addObjects adds the objects of one placement.
func (a *assessor) addObjects(e *evaluator, objects []*fleet.Object) {
	a.counts.Destinations += int32(len(e.destinations))
	a.workload += len(objects)
	late := new(big.Int)
	for _, obj := range objects {
		o := e.state(obj)
		switch kept := e.filter(o); kept.Satisfaction {
		case Unknown:
			a.counts.Objects++
			a.counts.Unknown++
			a.add(o.Ref(), kept)
		case Satisfied:
			a.counts.Objects++
			if a.stage.condition != nil {
				a.addObject(e, o, late)
			}
		}
	}
}

// addObject adds one object, and the clusters that are late with it.
func (a *assessor) addObject(e *evaluator, o *objectState, late *big.Int) {
	r := e.result(o)
	switch r.condition.Satisfaction {
	case Satisfied:
		a.counts.Satisfied++
	case Unknown:
		a.counts.Unknown++
	}
	a.unreportable = a.unreportable || r.unreportable
	a.addFailure(e, o, r)
	switch {
	case r.late == nil:
		a.unchecked++
	case new(big.Int).AndNot(r.late, late).Sign() != 0:
		late.Or(late, r.late)
		for i, name := range e.destinations {
			if _, known := a.late[name]; !known && r.late.Bit(i) == 1 && !e.excused[name] {
				a.late[name] = o.Ref()
			}
		}
	}
	switch {
	case a.addLine != nil:
		e.explain(o, r, a)
	case r.condition.Satisfaction < a.Satisfaction && len(e.destinations) > 0:
		a.finding = finding{r.condition.Satisfaction, o.Ref().String() + " in " + e.clusterText() + ": " + e.reason(o, r)}
	}
}

// addFailures adds failures of objects, and nothing else.
func (a *assessor) addFailures(e *evaluator, objects []*fleet.Object) {
	for _, obj := range objects {
		if o := e.state(obj); e.stage.failure != nil && e.filter(o).Satisfaction == Satisfied {
			a.addFailure(e, o, e.result(o))
		}
	}
}

func (a *assessor) addFailure(e *evaluator, o *objectState, r *objectResult) {
	if r.failing && !a.failing {
		a.failing, a.failure = true, fmt.Sprintf("failureCondition is true for %s in %s: %s", o.Ref(), e.clusterText(), e.failureText(o))
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
		a.add(fleet.ObjectRef{}, unsatisfied("%d destinations, want at least %d%s", have, want, a.choice()))
	}
	switch {
	case a.stage.guards.AllowEmpty:
	case a.workload == 0:
		a.add(fleet.ObjectRef{}, unsatisfied("the Binding holds no object"))
	case a.counts.Objects == 0:
		a.add(fleet.ObjectRef{}, unsatisfied("the filter keeps none of %d objects", a.workload))
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

// checkLate checks how many clusters are late: they do not have the revision, or have not reported
// it. At least one must not be.
func (a *assessor) checkLate(total int) {
	allowed := max(0, min(a.stage.maxSilent.of(total), total-1))
	missing := map[string]bool{}
	for name := range a.late {
		missing[name] = true
	}
	for name := range a.undelivered {
		missing[name] = true
	}
	if failures := a.stage.maxFailures.of(total); a.stage.perCluster == nil && a.setAside > failures {
		a.overdue = true
		a.add(fleet.ObjectRef{}, unsatisfied("%d clusters are set aside because their delivery takes too long, at most %d may be", a.setAside, failures))
	}
	switch {
	case len(missing) <= allowed:
		clear(a.undelivered)
	case len(a.undelivered) > 0:
		texts := sortedKeys(a.undelivered)
		for i, name := range texts {
			texts[i] = fmt.Sprintf("%s (%s)", name, a.undelivered[name])
		}
		a.Satisfaction = Satisfied // this explains whatever the condition says
		a.add(fleet.ObjectRef{}, unknown("%s is not delivered to %s", a.revision, firstOf(texts, ", ")))
	default:
		late, hint := sortedKeys(a.late), ""
		if a.content {
			a.Satisfaction = Satisfied
			hint = ": the delivery is confirmed, and no status has come since; one that stays the same is not written again, and requireEvidence: None takes it"
		}
		a.add(fleet.ObjectRef{}, unsatisfied("no status of the bound workload from %s (%s)%s", firstOf(late, ", "), a.lateText(late), hint))
	}
	if a.addLine != nil && a.unchecked > 0 {
		a.addLine(Line{Stage: a.stage.Name, Satisfaction: Satisfied,
			Text: fmt.Sprintf("not checked for %d objects, because it is not known which clusters reported when: silence, age, maxSilent", a.unchecked)})
	}
}

// lateText names an object without a status, and, if there are others, how many
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

// clusterText names the clusters.
func clusterText(all []string) string {
	text := cmp.Or(strings.Join(all[:min(3, len(all))], ", "), "no cluster")
	if more := len(all) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
