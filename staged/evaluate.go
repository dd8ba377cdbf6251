package staged

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// An objectResult is what was computed for one object that the filter keeps.
type objectResult struct {
	condition    finding
	failing      bool     // failureCondition is true
	unreportable bool     // KubeStellar will never make a CombinedStatus of the object
	late         *big.Int // one bit for each destination: it has not reported the present workload; nil: not known
}

// An evaluator evaluates the filter and the conditions of a stage for the objects of one placement.
type evaluator struct {
	stage        *stage
	destinations []string
	excused      map[string]bool // clusters that are not waited for
	since, now   time.Time
	budget       *budget
	known, used  map[*fleet.Object]*objectState
}

// state returns what is remembered of an object.
func (e *evaluator) state(obj *fleet.Object) *objectState {
	o := e.used[obj]
	if o == nil {
		if o = e.known[obj]; o == nil {
			o = &objectState{Object: obj}
		}
		e.used[obj] = o
	}
	return o
}

// assessWave adds what was observed of the clusters of one wave.
func (d *decider) assessWave(a *assessor, w wave, since *metav1.Time) {
	if why := d.missing(w); why != "" {
		a.bound = false
		a.add(fleet.ObjectRef{}, unknown("%s", why))
		return
	}
	e := &evaluator{stage: a.stage, now: d.now, budget: d.budget, known: d.known, used: d.used, excused: map[string]bool{}}
	if e.destinations = d.destinationsOf(w); since != nil {
		e.since = since.Time
	}
	if conflict := d.conflict(e.destinations); conflict != "" {
		a.add(fleet.ObjectRef{}, unsatisfied("%s", conflict))
	}
	if d.seen.Can.Content {
		all := e.destinations
		e.destinations = d.awaited(w, all)
		d.addDelivery(a, e)
		a.addObjects(e, d.objectsOf(a, e))
		if len(e.destinations) < len(all) {
			e.destinations = all
			a.addFailures(e, d.objectsOf(a, e))
		}
	} else {
		a.evidence = fleet.EvidenceNone
		a.addObjects(e, d.placed[w.name].Objects)
	}
	if d.budget.exceeded {
		d.recheckAt(d.now.Add(time.Second))
	}
}

// destinationsOf returns the clusters that a wave is assessed for: the clusters of its placement or,
// where single clusters are placed, the existing ones. Where reports are known one by one, it leaves
// out the clusters that the placement only keeps.
func (d *decider) destinationsOf(w wave) (names []string) {
	switch {
	case d.seen.Can.OldRevision:
	case !d.seen.Can.Content || d.clusters == nil:
		return d.placed[w.name].Has
	default:
		return slices.DeleteFunc(slices.Clone(d.placed[w.name].Has), func(c string) bool { return d.clusters[c] != nil && !d.wants(w, c) })
	}
	for _, name := range w.clusters {
		if d.clusters == nil || d.clusters[name] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// awaited returns the clusters of a wave for which the stage waits: all but the clusters that have joined while it soaked.
// They reset no soak, and their failure counts.
func (d *decider) awaited(w wave, clusters []string) []string {
	if w.batch < 0 {
		return clusters
	}
	return without(clusters, d.Status.Stages[w.stage].Batches[w.batch].Late)
}

// addDelivery notes which clusters of a wave do not have the wanted revision yet, and for which the
// stage does not wait because their delivery takes too long.
func (d *decider) addDelivery(a *assessor, e *evaluator) {
	for _, name := range e.destinations {
		rec := d.ledger[name]
		switch {
		case rec.Applied == d.Status.Wanted && rec.Applied != "" && !d.isOnItsWayOut(name):
		case rec.SetAside != "":
			e.excused[name] = true
			a.setAside++
		default:
			has := "it has " + d.revisionName(fleet.RevisionID(rec.Applied))
			if d.isOnItsWayOut(name) {
				has += fmt.Sprintf(" from a %s that is gone", d.kind())
			}
			a.undelivered[name] = cmp.Or(printable.Line(d.faults[name]), has)
		}
	}
}

// objectsOf combines the reports of the wanted revision. A report of another revision is no report.
func (d *decider) objectsOf(a *assessor, e *evaluator) []*fleet.Object {
	required := d.policy.requires(a.stage.Name)
	reports := map[fleet.ObjectRef]map[string]fleet.Report{}
	for _, c := range d.seen.Clusters {
		if !slices.Contains(e.destinations, c.Name) {
			continue
		}
		for _, r := range c.Reports {
			if !d.counts(r, c, required) {
				continue
			}
			if reports[r.Object] == nil {
				reports[r.Object] = map[string]fleet.Report{}
			}
			reports[r.Object][c.Name] = r
			a.evidence = min(a.evidence, r.Evidence)
		}
	}
	objects := make([]*fleet.Object, len(d.seen.Workload.Objects))
	for i, o := range d.seen.Workload.Objects {
		objects[i] = d.combine(o, e.destinations, reports[o.Ref()])
	}
	return objects
}

// counts reports whether a report is one of the wanted revision, as well as that has to be known. No report
// of a cluster that does not have the revision is.
func (d *decider) counts(r fleet.Report, c fleet.Cluster, required fleet.Evidence) bool {
	if string(c.Applied) != d.Status.Wanted {
		return false
	}
	return required == fleet.EvidenceNone && r.Revision == "" || r.Revision != "" && r.Revision == c.Applied && r.Evidence >= required
}

// combine returns an object with the CombinedStatus of reports.
func (d *decider) combine(o *fleet.Object, destinations []string, reports map[string]fleet.Report) *fleet.Object {
	made := &fleet.Object{Clause: o.Clause, ReturnedKnown: true}
	in := kubestellar.Input{Binding: &control.Binding{}, Resource: o.Clause.Resource, Collectors: d.seen.Collectors, Reports: map[string]kubestellar.Report{},
		Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": strings.TrimPrefix(o.Clause.Group+"/"+o.Clause.Version, "/"), "kind": o.Clause.Resource,
			"metadata": map[string]any{"namespace": o.Clause.Namespace, "name": o.Clause.Name}}}}
	in.Binding.Spec.Workload.NamespaceScope = []control.DownsyncClause{o.Clause}
	for _, name := range destinations {
		in.Binding.Spec.Destinations = append(in.Binding.Spec.Destinations, control.Destination{ClusterID: name})
		if r, has := reports[name]; has {
			in.Reports[name] = kubestellar.Report{Status: r.Status, LastUpdate: r.At}
			made.Returned = append(made.Returned, fleet.ClusterReport{Cluster: name, Reported: true, LastReturned: r.At})
		}
	}
	if status, has := kubestellar.Combine(kubestellar.Upstream, in); has {
		made.Combined = status
	}
	return made
}

// uncovered says that a placement does not hold the clusters of its batch yet, as after a change of
// the batch; "" if it does, or the clusters are not known.
func (d *decider) uncovered(w wave, destinations []string) string {
	switch {
	case d.seen.Can.OldRevision:
		return ""
	case len(destinations) == 0 && w.batch >= 0:
		return fmt.Sprintf("the %s %s has no destination yet", d.seen.Can.Bound, w.name)
	}
	clusters := w.clusters
	if w.batch < 0 {
		clusters = d.selected(d.policy.stages[w.stage])
	}
	for _, name := range clusters {
		if d.clusters[name] != nil && !slices.Contains(destinations, name) {
			return fmt.Sprintf("the %s %s has no destination %s yet", d.seen.Can.Bound, w.name, name)
		}
	}
	return ""
}

// filter evaluates the filter for an object.
func (e *evaluator) filter(o *objectState) finding {
	if e.stage.filter == nil {
		return finding{Satisfaction: Satisfied}
	}
	if o.filtered == nil {
		f := evaluate(e.stage.filter, map[string]any{"downsyncClause": clauseFields(&o.Clause)})
		if f.Satisfaction == Unknown {
			f.reason = "filter: " + f.reason
		}
		o.filtered = &f
	}
	return *o.filtered
}

// result returns the result for an object: the previous one if nothing has changed.
func (e *evaluator) result(o *objectState) *objectResult {
	switch {
	case o.result != nil && !e.stage.readsTime:
	case e.budget.left == 0:
		e.budget.exceeded = true
		return &objectResult{condition: unknown("it is evaluated later: the evaluations of one decision may cost %d at most", e.budget.limit)}
	case o.result != nil && e.budget.reuse && e.now.Sub(o.resultAt) < timeStep:
	default:
		o.result, o.resultAt = e.newResult(o), e.now
	}
	return o.result
}

func (e *evaluator) newResult(o *objectState) *objectResult {
	status := o.Combined
	reports, known := e.reports(o)
	r := &objectResult{}
	if known {
		r.late = e.late(o, reports)
	}
	if status == nil {
		r.condition = unknown("%s", cmp.Or(o.Missing, "there is no CombinedStatus yet"))
		if len(o.Clause.StatusCollectors) == 0 {
			r.condition = unknown("there is no CombinedStatus, because no clause of spec.downsync that chooses it has statusCollectors; a filter could leave it out")
		}
		if r.unreportable = len(validation.IsValidLabelValue(o.Clause.Name)) > 0; r.unreportable {
			r.condition = unknown("there can be no CombinedStatus, because the name is no label value; a filter could leave it out")
		}
		return r
	}
	variables, err := e.variables(o)
	if err != nil {
		r.condition = unknown("%v", err)
		return r
	}
	if e.stage.condition != nil {
		r.condition = e.evaluateCondition(variables)
	}
	e.evaluateFailure(r, variables, reports)
	if text := errorIn(status, e.stage.condition); text != "" && !e.stage.guards.AllowErrors && r.condition.Satisfaction == Satisfied {
		r.condition = unknown("%s", text)
	}
	return r
}

// evaluateFailure evaluates the failure condition. A status from before the present version of the
// workload is no failure, unless guards allow stale status. An error must not go unseen: the stage
// cannot pass.
func (e *evaluator) evaluateFailure(r *objectResult, variables map[string]any, reports []fleet.ClusterReport) {
	if e.stage.failure == nil {
		return
	}
	found := e.evaluate(e.stage.failure, variables)
	switch {
	case found.Satisfaction == Unknown:
		if r.condition.Satisfaction != Unknown {
			r.condition = unknown("failureCondition: %s", found.reason)
		}
	case found.Satisfaction == Satisfied:
		r.failing = e.stale(reports) <= e.stage.maxSilent.of(len(e.destinations))
	}
}

// stale counts the destinations whose status is older than the present version of the workload.
func (e *evaluator) stale(reports []fleet.ClusterReport) (n int) {
	if e.stage.guards.AllowStale {
		return 0
	}
	old := map[string]bool{}
	for _, r := range reports {
		old[r.Cluster] = r.IsLate()
	}
	for _, name := range e.destinations {
		if old[name] {
			n++
		}
	}
	return n
}

// evaluate evaluates an expression at the cost of the decision.
func (e *evaluator) evaluate(p *eval.Program, variables map[string]any) finding {
	found, steps := measure(p, variables)
	e.budget.spend(uint64(1 + max(0, steps)))
	return found
}

// evaluateCondition evaluates the condition. If the result is unknown, the reason names the
// conjunct that fails.
func (e *evaluator) evaluateCondition(variables map[string]any) finding {
	found := e.evaluate(e.stage.condition, variables)
	if found.Satisfaction != Unknown {
		return found
	}
	for _, c := range e.stage.conjuncts {
		if part := e.evaluate(c.whole, variables); part.Satisfaction == Unknown {
			return unknown("%s: %s", c.Text, part.reason)
		}
	}
	return found
}

// errReported is the value of the variable reported where it is not known how many clusters reported.
var errReported = types.NewErr("it is not known which clusters reported")

// variables returns the variables of a condition.
func (e *evaluator) variables(o *objectState) (map[string]any, error) {
	fields, err := o.statusFields()
	variables := map[string]any{
		"obj": fields, "destinations": e.destinations, "now": e.now, "since": max(0, e.now.Sub(e.since)),
	}
	if reports, known := e.reports(o); known {
		variables["reported"] = int64(e.reported(reports))
	} else {
		variables["reported"] = errReported
	}
	return variables, err
}

// reports returns which clusters reported the object, if that is known: from what was observed, or
// else from the rows of its CombinedStatus.
func (e *evaluator) reports(o *objectState) ([]fleet.ClusterReport, bool) {
	if o.ReturnedKnown || o.Combined == nil {
		return o.Returned, o.ReturnedKnown
	}
	return reportsFromRows(o.Combined, e.destinations)
}

// reported counts the destinations that reported. Reports of other clusters, which may still have
// the object, do not count.
func (e *evaluator) reported(reports []fleet.ClusterReport) (n int) {
	reported := map[string]bool{}
	for _, r := range reports {
		reported[r.Cluster] = reported[r.Cluster] || r.Reported
	}
	for _, name := range e.destinations {
		if reported[name] {
			n++
		}
	}
	return n
}

// late returns the destinations that have not reported the object since it was bound, as a bit set:
// there may be many destinations for each of many objects.
func (e *evaluator) late(o *objectState, reports []fleet.ClusterReport) *big.Int {
	late := new(big.Int)
	if e.stage.guards.AllowStale || neverReports(o.Ref()) {
		return late
	}
	inTime := make(map[string]bool, len(reports))
	for _, r := range reports {
		inTime[r.Cluster] = !r.IsLate()
	}
	for i, name := range e.destinations {
		if !inTime[name] {
			late.SetBit(late, i, 1)
		}
	}
	return late
}
