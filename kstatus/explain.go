package kstatus

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An Explanation is how a result came about.
type Explanation struct {
	Result  Result
	Steps   []Step   // the rules that were tried, in order; the last may have decided
	Skipped []string // the paths of conditions that cannot be read
}

// A Step is a rule that was tried: a part of the generic layer, or a rule of the kind, named Kind.group.
type Step struct {
	Rule    string
	Seen    []Seen
	Decided bool
}

// Seen is a field that a rule looked at. The value of a missing field is nil.
type Seen struct {
	Path  string
	Value any
}

// Explain computes a result and tells how. It is for people: slower than [Rules.Compute], the same answer.
func (r *Rules) Explain(obj *unstructured.Unstructured, now time.Time) Explanation {
	if obj == nil || obj.Object == nil {
		return Explanation{Result: r.Compute(obj, now)}
	}
	o := Object{waitForJobs: r.waitForJobs}
	o.read(obj.Object, typeOf(obj.Object), now)
	e := Explanation{Result: current, Skipped: skipped(o.conditions)}
	o.counts = nil
	for _, s := range r.steps(&o) {
		o.trace = &trace{}
		result, decided := s.rule(o)
		e.Steps = append(e.Steps, Step{Rule: s.name, Seen: o.trace.seen, Decided: decided})
		if decided {
			e.Result = result
			break
		}
	}
	e.Result.skipped = o.skipped
	return e
}

// skipped are the paths of the conditions that cannot be read.
func skipped(conditions []any) (paths []string) {
	for i, item := range conditions {
		if _, ok := look(item); !ok && item != nil {
			paths = append(paths, skippedPath(i))
		}
	}
	return paths
}

// String is the result on a line, then a line for each step: "*" if it decided, the rule, what it saw.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Result)
	for _, s := range e.Steps {
		mark := " "
		if s.Decided {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %s", mark, s.Rule)
		for _, seen := range s.Seen {
			fmt.Fprintf(&b, " %s=%v", seen.Path, printable(seen.Value))
		}
		fmt.Fprintln(&b)
	}
	for _, path := range e.Skipped {
		fmt.Fprintf(&b, "! %s cannot be read\n", path)
	}
	return b.String()
}

// printable keeps whole maps and lists out of a line.
func printable(v any) any {
	if v == nil {
		return "-"
	}
	if s, ok := object.ToSlice(v); ok {
		return fmt.Sprintf("[%d]", len(s))
	}
	if m, ok := object.ToMap(v); ok {
		return fmt.Sprintf("{%d}", len(m))
	}
	return v
}

// A trace records what a rule reads.
type trace struct{ seen []Seen }

func (t *trace) see(path string, v any) {
	for _, s := range t.seen {
		if s.Path == path {
			return
		}
	}
	t.seen = append(t.seen, Seen{path, object.DeepCopy(v)})
}
