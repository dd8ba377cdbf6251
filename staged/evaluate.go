package staged

import (
	"math/big"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/staged/control"
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
	if o.result == nil || e.stage.readsTime {
		o.result = e.newResult(o)
	}
	return o.result
}

func (e *evaluator) newResult(o *objectState) *objectResult {
	status := o.status(string(e.policy.UID))
	reports, known := e.reports(o, status)
	r := &objectResult{}
	if known {
		r.late = e.late(reports)
	}
	if status == nil {
		r.condition = unknown("there is no CombinedStatus yet")
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
		r.condition = e.stage.evaluateCondition(variables)
	}
	if e.stage.failure != nil {
		r.failing = evaluate(e.stage.failure, variables).Satisfaction == Satisfied
	}
	if text := errorIn(status, e.stage.condition); text != "" && !e.stage.guards.AllowErrors && r.condition.Satisfaction == Satisfied {
		r.condition = unknown("%s", text)
	}
	return r
}

// evaluateCondition evaluates the condition. If the result is unknown, the reason names the
// conjunct that fails.
func (s *stage) evaluateCondition(variables map[string]any) finding {
	found := evaluate(s.condition, variables)
	if found.Satisfaction != Unknown {
		return found
	}
	for _, c := range s.conjuncts {
		if part := evaluate(c.whole, variables); part.Satisfaction == Unknown {
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
func (e *evaluator) late(reports []ClusterReport) *big.Int {
	late := new(big.Int)
	if e.stage.guards.AllowStale {
		return late
	}
	inTime := make(map[string]bool, len(reports))
	for _, r := range reports {
		inTime[r.Cluster] = !r.isLate()
	}
	for i, d := range e.binding.Spec.Destinations {
		if !inTime[d.ClusterID] {
			late.SetBit(late, i, 1)
		}
	}
	return late
}
