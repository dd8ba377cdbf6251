package staged

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// Verdict is the answer to a question about a rollout: yes, no, or that it cannot be told. Only yes lets a stage pass.
type Verdict int

// The verdicts, worst first. Unknown is what an evaluation error or a missing status comes to.
const (
	Unknown Verdict = iota
	Unsatisfied
	Satisfied
)

// String is the name in words.
func (v Verdict) String() string { return [...]string{"unknown", "not satisfied", "satisfied"}[v] }

// An answer is a verdict and, unless it is Satisfied, why.
type answer struct {
	Verdict
	why string
}

func unknown(format string, args ...any) answer { return answer{Unknown, fmt.Sprintf(format, args...)} }
func unsatisfied(format string, args ...any) answer {
	return answer{Unsatisfied, fmt.Sprintf(format, args...)}
}

// ask evaluates an expression.
func ask(p *eval.Program, variables map[string]any) answer {
	ok, err := p.Bool(variables)
	switch {
	case err != nil:
		return unknown("%v", err)
	case !ok:
		return answer{Verdict: Unsatisfied}
	}
	return answer{Verdict: Satisfied}
}

// A verdict is what was found out about one object that the filter keeps.
type verdict struct {
	condition answer
	failing   bool
	hopeless  bool     // KubeStellar will never report it
	late      *big.Int // the destinations that are silent or out of date, a bit each; nil if that is not known
}

// A judge looks at the objects of one BindingPolicy for one stage.
type judge struct {
	stage *stage
	*placed
	since, now time.Time
}

// keeps asks the filter. An error is not a no.
func (j *judge) keeps(o *sight) answer {
	if j.stage.filter == nil {
		return answer{Verdict: Satisfied}
	}
	if o.kept == nil {
		a := ask(j.stage.filter, map[string]any{"downsyncClause": clauseFields(o.clause)})
		if a.Verdict == Unknown {
			a.why = "filter: " + a.why
		}
		o.kept = &a
	}
	return *o.kept
}

// judge returns the verdict on an object, the one before if nothing has changed.
func (j *judge) judge(o *sight) *verdict {
	if o.verdict == nil || j.stage.timed {
		o.verdict = j.fresh(o)
	}
	return o.verdict
}

func (j *judge) fresh(o *sight) *verdict {
	status := o.status(string(j.policy.UID))
	reports, known := j.reports(o, status)
	v := &verdict{}
	if known {
		v.late = j.late(reports)
	}
	if status == nil {
		v.condition = unknown("there is no CombinedStatus yet")
		if v.hopeless = len(validation.IsValidLabelValue(o.ref.Name)) > 0; v.hopeless {
			v.condition = unknown("there can be no CombinedStatus, because the name is no label value; a filter could leave it out")
		}
		return v
	}
	variables, err := j.variables(o, status)
	if err != nil {
		v.condition = unknown("%v", err)
		return v
	}
	if j.stage.condition != nil {
		v.condition = j.stage.holds(variables)
	}
	if j.stage.failure != nil {
		v.failing = ask(j.stage.failure, variables).Verdict == Satisfied
	}
	if text := errorIn(status, j.stage.condition); text != "" && !j.stage.guards.AllowErrors && v.condition.Verdict == Satisfied {
		v.condition = unknown("%s", text)
	}
	return v
}

// errReported is what asking for reported comes to where that is not known.
var errReported = types.NewErr("nobody says which clusters reported")

// holds asks the condition. If that cannot be told, it says of which part.
func (s *stage) holds(variables map[string]any) answer {
	found := ask(s.condition, variables)
	for _, t := range s.terms {
		if found.Verdict != Unknown {
			break
		}
		if part := ask(t.whole, variables); part.Verdict == Unknown {
			return unknown("%s: %s", t.Text, part.why)
		}
	}
	return found
}

// variables are what a condition sees.
func (j *judge) variables(o *sight, status *control.CombinedStatus) (map[string]any, error) {
	fields, err := o.fields(status)
	variables := map[string]any{
		"obj": fields, "destinations": j.destinations(), "now": j.now, "since": max(0, j.now.Sub(j.since)),
	}
	if reports, known := j.reports(o, status); known {
		variables["reported"] = int64(j.reported(reports))
	} else {
		variables["reported"] = errReported
	}
	return variables, err
}

// reports say which clusters reported the object, if that is known: from what was observed, or else from the rows of its status.
func (j *judge) reports(o *sight, status *control.CombinedStatus) ([]ClusterReport, bool) {
	if o.reported || status == nil {
		return o.clusters, o.reported
	}
	return rowReports(status, j.binding.Spec.Destinations)
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, x := range all {
		if is(x) {
			n++
		}
	}
	return n
}

// reported is how many destinations reported; a report of another cluster, where the object still is, does not count.
func (j *judge) reported(reports []ClusterReport) int {
	done := map[string]bool{}
	for _, c := range reports {
		done[c.Cluster] = done[c.Cluster] || c.Reported
	}
	return count(j.destinations(), func(name string) bool { return done[name] })
}

func (j *judge) destinations() []string {
	names := make([]string, len(j.binding.Spec.Destinations))
	for i, d := range j.binding.Spec.Destinations {
		names[i] = d.ClusterID
	}
	return names
}

// late are the destinations that have not reported the object, or not since it was bound. Bits, because there may be many for each of many objects.
func (j *judge) late(reports []ClusterReport) *big.Int {
	late := new(big.Int)
	if j.stage.guards.AllowStale {
		return late
	}
	ok := make(map[string]bool, len(reports))
	for _, c := range reports {
		ok[c.Cluster] = !c.late()
	}
	for i, d := range j.binding.Spec.Destinations {
		if !ok[d.ClusterID] {
			late.SetBit(late, i, 1)
		}
	}
	return late
}

// errorIn returns the first error in the columns that a condition reads. These are told by the texts that stand in it: it reads the tables that it
// names, or else those that have a column which it names, or else all; and of each the columns that it names, or else all.
func errorIn(s *control.CombinedStatus, condition *eval.Program) string {
	var words []string
	if condition != nil {
		words = condition.Literals()
	}
	named := func(name string) bool { return slices.Contains(words, name) }
	hasColumn := func(r control.NamedStatusCombination) bool { return slices.ContainsFunc(r.ColumnNames, named) }
	tables := preferred(s.Results, func(r control.NamedStatusCombination) bool { return named(r.Name) })
	for _, r := range preferred(tables, hasColumn) {
		for _, e := range errorsOf(r) {
			if e.column == "" || named(e.column) || !hasColumn(r) {
				return fmt.Sprintf("collector %s: %s: %s", r.Name, cmp.Or(e.column, "filter"), e.text)
			}
		}
	}
	return ""
}

// preferred are the elements of a kind, or all if there is none.
func preferred[T any](all []T, is func(T) bool) []T {
	var some []T
	for _, x := range all {
		if is(x) {
			some = append(some, x)
		}
	}
	if some == nil {
		return all
	}
	return some
}

type columnError struct{ column, text string }

func errorsOf(r control.NamedStatusCombination) (all []columnError) {
	for _, e := range r.RowErrors {
		all = append(all, columnError{e.ColumnName, e.WEC.ClusterID + ": " + e.Error})
	}
	for _, e := range r.AggregationErrors {
		all = append(all, columnError{e.ColumnName, e.Error})
	}
	return all
}
