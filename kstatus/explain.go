package kstatus

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// An Explanation says how a result came about.
type Explanation struct {
	Result  Result
	Steps   []Step   // the rules that were tried, in order; the last one may have decided
	Skipped []string // the paths of the conditions that cannot be read
}

// A Step is a rule that was tried: a general rule, or a rule for the kind, whose name is
// Kind.group.
type Step struct {
	Rule    string
	Seen    []seen // the fields that the rule read; the value of a missing field is nil
	Decided bool
}

// A seen is an element of [Step].Seen. It is an alias, so that its fields stand in the documentation.
type seen = struct {
	Path  string
	Value any
}

// Explain computes a result and records which rules were tried and which fields they read. The
// result is the same like that of [Rules.Compute]; Explain is slower and allocates.
func (r *Rules) Explain(obj *unstructured.Unstructured, now time.Time) Explanation {
	if obj == nil || obj.Object == nil {
		return Explanation{Result: r.Compute(obj, now)}
	}
	var o Object
	r.read(&o, obj.Object, now)
	e := Explanation{Result: nothingSaid, Skipped: skippedPaths(&o)}
	for _, s := range r.steps(&o) {
		o.trace = &trace{}
		result, decided := s.rule(o)
		result.restOn(s.basis)
		e.Steps = append(e.Steps, Step{Rule: s.name, Seen: o.trace.seen, Decided: decided})
		if decided {
			e.Result = result
			break
		}
	}
	if d := r.definitionOf(&o); d != nil {
		o.trace = &trace{}
		if d.refine(&o, &e.Result) {
			e.refinedBy(Step{Rule: "definition", Seen: o.trace.seen, Decided: true})
		}
	}
	e.Result.note(&o)
	return e
}

// refinedBy adds a step that has changed the verdict of the one before.
func (e *Explanation) refinedBy(s Step) {
	for i := range e.Steps {
		e.Steps[i].Decided = false
	}
	e.Steps = append(e.Steps, s)
}

func skippedPaths(o *Object) (paths []string) {
	if o.skipped == skippedGeneration {
		paths = append(paths, generationPath)
	}
	conditions, _ := object.ToSlice(o.status["conditions"])
	for i, item := range conditions {
		if _, ok := viewOf(item); !ok && item != nil {
			paths = append(paths, indexPath(i))
		}
	}
	return paths
}

// String returns the result on the first line, its basis on the second, then a line for each step: "*" if it decided, the
// name of the rule, and the fields that it read. Control characters are escaped, and long texts are
// cut.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Result)
	fmt.Fprintln(&b, "  basis:", e.Result.Basis)
	for _, s := range e.Steps {
		decided := " "
		if s.Decided {
			decided = "*"
		}
		fmt.Fprintf(&b, "%s %s", decided, printable.Text(s.Rule))
		for _, seen := range s.Seen {
			fmt.Fprintf(&b, " %s=%v", printable.Text(seen.Path), shown(seen.Value))
		}
		fmt.Fprintln(&b)
	}
	for _, path := range e.Skipped {
		fmt.Fprintf(&b, "! %s cannot be read\n", path)
	}
	return b.String()
}

// shown replaces maps and lists by their lengths, so that a step stays on one line.
func shown(v any) any {
	if v == nil {
		return "-"
	}
	if s, ok := object.ToSlice(v); ok {
		return fmt.Sprintf("[%d]", len(s))
	}
	if m, ok := object.ToMap(v); ok {
		return fmt.Sprintf("{%d}", len(m))
	}
	return printable.Text(fmt.Sprint(v))
}

// A trace records what one rule reads.
type trace struct{ seen []seen }

func (t *trace) record(path string, v any) {
	for _, s := range t.seen {
		if s.Path == path {
			return
		}
	}
	t.seen = append(t.seen, seen{path, object.DeepCopy(v)})
}
