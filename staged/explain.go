package staged

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Line is one finding of an explanation.
type Line struct {
	Stage        string
	Object       fleet.ObjectRef // zero if the finding is about the stage
	Satisfaction Satisfaction
	Text         string // what was observed and what is wanted
}

// String prints `waiting: stage "dev": deployments.apps nginx/web: num("sum") is 1, want 2`. The
// first word is waiting, unknown or ok.
func (l Line) String() string {
	words := [...]string{"unknown", "waiting", "ok"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: stage %q: ", words[l.Satisfaction], l.Stage)
	if l.Object != (fleet.ObjectRef{}) {
		b.WriteString(l.Object.String() + ": ")
	}
	b.WriteString(l.Text)
	return printable.Line(b.String())
}

// Explain is [Policy.Explain] with remembered results.
func (r *Rollout) Explain(status v1alpha1.Status, seen fleet.World) []Line {
	var lines []Line
	d := r.decider(status, seen)
	d.addLine = func(l Line) { lines = append(lines, l) }
	d.run()
	for _, s := range d.policy.stages {
		if seen.Can.Content {
			d.addLine(Line{Stage: s.Name, Satisfaction: Satisfied, Text: fmt.Sprintf("evidence: %s is asked for, the transport gives %s", d.policy.requires(s.Name), seen.Can.Best)})
		}
	}
	return lines
}

// Explain says for each object and each part of the condition of the active stage what was observed
// and what is wanted, and then what else the stage waits for.
func (p *Policy) Explain(status v1alpha1.Status, seen fleet.World) []Line {
	return NewRollout(p).Explain(status, seen)
}

// explain adds the lines of one object: one for each part of the condition.
func (e *evaluator) explain(o *objectState, r *objectResult, a *assessor) {
	status := o.Combined
	variables, err := map[string]any(nil), error(nil)
	if status != nil {
		variables, err = e.variables(o)
	}
	if status == nil || err != nil || len(e.stage.conjuncts) == 0 || e.stage.condition == nil {
		a.add(o.Ref(), withReason(r.condition, e.stage))
		return
	}
	if r.condition.Satisfaction < a.Satisfaction {
		a.finding = finding{r.condition.Satisfaction, o.Ref().String() + ": " + e.reason(o, r)}
	}
	for _, c := range e.stage.conjuncts {
		found := evaluate(c.whole, variables)
		text := printable.Text(c.explain(found, variables, status))
		a.addLine(Line{Stage: e.stage.Name, Object: o.Ref(), Satisfaction: found.Satisfaction, Text: text})
	}
	if text := errorIn(status, e.stage.condition); text != "" && !e.stage.guards.AllowErrors {
		a.addLine(Line{Stage: e.stage.Name, Object: o.Ref(), Satisfaction: Unknown, Text: text})
	}
}

// reason says why the condition does not hold for an object: the values that it found.
func (e *evaluator) reason(o *objectState, r *objectResult) string {
	status := o.Combined
	if r.condition.reason != "" || status == nil {
		return withReason(r.condition, e.stage).reason
	}
	variables, err := e.variables(o)
	if err != nil {
		return printable.Error(err)
	}
	var parts []string
	for _, c := range e.stage.conjuncts {
		if found := evaluate(c.whole, variables); found.Satisfaction != Satisfied {
			parts = append(parts, printable.Text(c.explain(found, variables, status)))
		}
	}
	if len(parts) == 0 {
		return withReason(r.condition, e.stage).reason + ", with " + printable.Text(tablesText(status))
	}
	return strings.Join(parts, "; ")
}

// clusterText names the clusters.
func (e *evaluator) clusterText() string { return clusterText(e.destinations) }

// failureText says what was seen when the failure condition was true.
func (e *evaluator) failureText(o *objectState) string {
	return "saw " + printable.Text(tablesText(o.Combined))
}

// explain says what a conjunct found and what it wants.
func (t conjunct) explain(found finding, variables map[string]any, status *control.CombinedStatus) string {
	switch {
	case found.Satisfaction == Unknown:
		return fmt.Sprintf("%s: %s", t.Text, found.reason)
	case t.left != nil && t.right != nil && len(t.right.Variables()) > 0:
		return fmt.Sprintf("%s is %s, want %s, that is %s", t.Left, valueText(t.left, variables), t.wants(), valueText(t.right, variables))
	case t.left != nil && t.right != nil:
		return fmt.Sprintf("%s is %s, want %s", t.Left, valueText(t.left, variables), t.wants())
	case found.Satisfaction == Satisfied:
		return t.Text
	}
	return fmt.Sprintf("saw %s; wants %s", tablesText(status), t.wants())
}

// tablesText prints the cells of a CombinedStatus: collector: column = value, ….
func tablesText(status *control.CombinedStatus) string {
	var all []string
	for _, r := range status.Results {
		text := r.Name + ": no row"
		for i, row := range r.Rows {
			if i == 0 {
				text = r.Name + ":"
			}
			text += rowText(r.ColumnNames, row)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "no results"
	}
	return strings.Join(all, "; ")
}

func rowText(names []string, row control.StatusCombinationRow) string {
	var cells []string
	for i, v := range row.Columns {
		if i < len(names) {
			cells = append(cells, names[i]+" = "+cellText(v))
		}
	}
	return " " + strings.Join(cells, ", ")
}

func cellText(v control.Value) string {
	switch {
	case v.Number != nil:
		return *v.Number
	case v.String != nil:
		return fmt.Sprintf("%.80q", *v.String)
	case v.Bool != nil:
		return fmt.Sprint(*v.Bool)
	case v.Object != nil:
		return string(v.Object.Raw)
	case v.Array != nil:
		return string(v.Array.Raw)
	}
	return "null"
}

// valueText prints the value of an expression.
func valueText(p *eval.Program, variables map[string]any) string {
	v, err := p.Eval(variables)
	if err != nil {
		return "unknown (" + err.Error() + ")"
	}
	text, err := json.Marshal(v.Plain())
	if err != nil {
		return fmt.Sprint(v.Plain()) // NaN and infinities
	}
	return string(text)
}
