package staged

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Line is one finding of an explanation.
type Line struct {
	Stage   string
	Object  ObjectRef // zero if the finding is about the stage
	Verdict Verdict
	Text    string // what was seen and what is wanted
}

// String prints `waiting: stage "dev": deployments.apps nginx/web: num("sum") is 1, want 2`; instead of waiting, unknown or ok.
func (l Line) String() string {
	words := [...]string{"unknown", "waiting", "ok"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: stage %q: ", words[l.Verdict], l.Stage)
	if l.Object != (ObjectRef{}) {
		b.WriteString(l.Object.String() + ": ")
	}
	b.WriteString(l.Text)
	return b.String()
}

// Explain says for each object and each part of the condition of the active stage what was seen and what is wanted, then what else the
// stage waits for. It is [Policy.Explain] for what the Rollout has seen.
func (r *Rollout) Explain(status v1alpha1.Status, now time.Time) []Line {
	var lines []Line
	d := newDecider(r, status, now)
	d.tell = func(l Line) { lines = append(lines, l) }
	d.run()
	return lines
}

// Explain says for each object and each part of the condition of the active stage what was seen and what is wanted, then what else the
// stage waits for.
func (p *Policy) Explain(status v1alpha1.Status, seen Observation, now time.Time) []Line {
	r := NewRollout(p)
	r.observe(seen)
	return r.Explain(status, now)
}

// explain tells of one object: a line for each part of the condition.
func (j *judge) explain(o *sight, v *verdict, a *assessor) {
	status := o.status(string(j.policy.UID))
	variables, err := map[string]any(nil), error(nil)
	if status != nil {
		variables, err = j.variables(o, status)
	}
	if status == nil || err != nil || len(j.stage.terms) == 0 || j.stage.condition == nil {
		a.find(o.ref, worded(v.condition, j.stage))
		return
	}
	if v.condition.Verdict < a.Verdict {
		a.answer = worded(v.condition, j.stage)
	}
	for _, t := range j.stage.terms {
		found := ask(t.whole, variables)
		a.tell(Line{Stage: j.stage.Name, Object: o.ref, Verdict: found.Verdict, Text: t.explain(found, variables, status)})
	}
	if text := errorIn(status, j.stage.condition); text != "" && !j.stage.guards.AllowErrors {
		a.tell(Line{Stage: j.stage.Name, Object: o.ref, Verdict: Unknown, Text: text})
	}
}

// explain says what a part saw and what it wants.
func (t term) explain(found answer, variables map[string]any, status *control.CombinedStatus) string {
	switch {
	case found.Verdict == Unknown:
		return fmt.Sprintf("%s: %s", t.Text, found.why)
	case t.left != nil && t.right != nil && len(t.right.Variables()) > 0:
		return fmt.Sprintf("%s is %s, want %s, that is %s", t.Left, shown(t.left, variables), t.wants(), shown(t.right, variables))
	case t.left != nil && t.right != nil:
		return fmt.Sprintf("%s is %s, want %s", t.Left, shown(t.left, variables), t.wants())
	case found.Verdict == Satisfied:
		return t.Text
	}
	return fmt.Sprintf("saw %s; wants %s", tables(status), t.wants())
}

// tables prints the cells of a CombinedStatus: collector: column = value, ….
func tables(status *control.CombinedStatus) string {
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

// shown prints the value of a part.
func shown(p *eval.Program, variables map[string]any) string {
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
