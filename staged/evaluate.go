package staged

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// An objectResult is what was computed for one object that the filter keeps.
type objectResult struct {
	condition    finding
	failing      bool     // failureCondition is true
	unreportable bool     // KubeStellar will never make a CombinedStatus of the object
	late         *big.Int // one bit for each destination: it has not reported the present workload; nil: not known
}

// An evaluator evaluates the filter and the conditions of a stage for the objects of one
// BindingPolicy.
type evaluator struct {
	stage *stage
	*bindingPolicyState
	since, now time.Time
	budget     *budget
	outdated   []string // clusters whose statuses from before since are those of an earlier version
}

// assessPlacement adds what was observed of one BindingPolicy.
func (d *decider) assessPlacement(a *assessor, p placement, since *metav1.Time) {
	if why := d.missing(p); why != "" {
		a.bound = false
		a.add(ObjectRef{}, unknown("%s", why))
		return
	}
	e := &evaluator{stage: a.stage, bindingPolicyState: d.observed[p.name], now: d.now, budget: d.budget}
	if rec := d.owned(p.name); d.policy.stagesUpdates() && !p.frozen && rec != nil {
		e.outdated = rec.Outdated
	}
	if since != nil {
		e.since = since.Time
	}
	if why := d.uncovered(p, e.destinations()); why != "" {
		a.add(ObjectRef{}, unknown("%s", why))
	}
	a.addObjects(e)
	if d.budget.exceeded {
		d.recheckAt(d.now.Add(time.Second))
	}
}

// uncovered says that a Binding has not the clusters of its batch as destinations yet, as after a
// change of the batch; "" if it has them, or nobody knows the clusters.
func (d *decider) uncovered(p placement, destinations []string) string {
	switch {
	case p.batch < 0:
		return ""
	case len(destinations) == 0:
		return fmt.Sprintf("the Binding %s has no destination yet", p.name)
	}
	for _, name := range d.Status.Stages[p.stage].Batches[p.batch].Clusters {
		if d.clusters[name] != nil && !slices.Contains(destinations, name) {
			return fmt.Sprintf("the Binding %s has no destination %s yet", p.name, name)
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
		f := evaluate(e.stage.filter, map[string]any{"downsyncClause": clauseFields(o.clause)})
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
	status := o.status(string(e.policy.UID))
	reports, known := e.reports(o, status)
	r := &objectResult{}
	if known {
		r.late = e.late(o, reports)
	}
	if status == nil {
		r.condition = unknown("there is no CombinedStatus yet")
		if len(o.statuses) > 1 {
			r.condition = unknown("there is no CombinedStatus yet, or more than one")
		}
		if len(o.clause.StatusCollectors) == 0 {
			r.condition = unknown("there is no CombinedStatus, because no clause of spec.downsync that chooses it has statusCollectors; a filter could leave it out")
		}
		if r.unreportable = len(validation.IsValidLabelValue(o.ref.Name)) > 0; r.unreportable {
			r.condition = unknown("there can be no CombinedStatus, because the name is no label value; a filter could leave it out")
		}
		return r
	}
	variables, err := e.variables(o, status)
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
func (e *evaluator) evaluateFailure(r *objectResult, variables map[string]any, reports []ClusterReport) {
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
		r.failing = e.stale(reports) <= e.stage.maxSilent.of(len(e.binding.Spec.Destinations))
	}
}

// stale counts the destinations whose status is older than the present version of the workload.
func (e *evaluator) stale(reports []ClusterReport) (n int) {
	if e.stage.guards.AllowStale {
		return 0
	}
	old := map[string]bool{}
	for _, r := range reports {
		old[r.Cluster] = e.isLate(r)
	}
	for _, d := range e.binding.Spec.Destinations {
		if old[d.ClusterID] {
			n++
		}
	}
	return n
}

// isLate reports whether a status is missing, or older than the present version of the workload.
// Times of stages are rounded up to whole seconds, and those of reports down.
func (e *evaluator) isLate(r ClusterReport) bool {
	return r.isLate() || !r.LastReturned.IsZero() && r.LastReturned.Before(e.since.Add(-time.Second)) && slices.Contains(e.outdated, r.Cluster)
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

// errReported is the value of the variable reported where nobody knows how many clusters reported.
var errReported = types.NewErr("nobody says which clusters reported")

// variables returns the variables of a condition.
func (e *evaluator) variables(o *objectState, status *control.CombinedStatus) (map[string]any, error) {
	fields, err := o.statusFields(status)
	variables := map[string]any{
		"obj": fields, "destinations": e.destinations(), "now": e.now, "since": max(0, e.now.Sub(e.since)),
	}
	if reports, known := e.reports(o, status); known {
		variables["reported"] = int64(e.reported(reports))
	} else {
		variables["reported"] = errReported
	}
	return variables, err
}

// reports returns which clusters reported the object, if that is known: from what was observed, or
// else from the rows of its CombinedStatus.
func (e *evaluator) reports(o *objectState, status *control.CombinedStatus) ([]ClusterReport, bool) {
	if o.reported || status == nil {
		return o.clusters, o.reported
	}
	return reportsFromRows(status, e.binding.Spec.Destinations)
}

// reported counts the destinations that reported. Reports of other clusters, which may still have
// the object, do not count.
func (e *evaluator) reported(reports []ClusterReport) (n int) {
	reported := map[string]bool{}
	for _, r := range reports {
		reported[r.Cluster] = reported[r.Cluster] || r.Reported
	}
	for _, d := range e.binding.Spec.Destinations {
		if reported[d.ClusterID] {
			n++
		}
	}
	return n
}

func (e *evaluator) destinations() []string {
	names := make([]string, len(e.binding.Spec.Destinations))
	for i, d := range e.binding.Spec.Destinations {
		names[i] = d.ClusterID
	}
	return names
}

// late returns the destinations that have not reported the object since it was bound, as a bit set:
// there may be many destinations for each of many objects.
func (e *evaluator) late(o *objectState, reports []ClusterReport) *big.Int {
	late := new(big.Int)
	if e.stage.guards.AllowStale || o.ref.neverReports() {
		return late
	}
	inTime := make(map[string]bool, len(reports))
	for _, r := range reports {
		inTime[r.Cluster] = !e.isLate(r)
	}
	for i, d := range e.binding.Spec.Destinations {
		if !inTime[d.ClusterID] {
			late.SetBit(late, i, 1)
		}
	}
	return late
}
