package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Level says how bad a finding is.
type Level string

// The levels.
const (
	Must   Level = "must"   // tools are wrong about the objects
	Should Level = "should" // tools have to guess
)

// A Finding is one thing that a tool cannot read, and how to fix it.
type Finding struct {
	Level Level
	Path  string // the field that it is about
	What  string // what a tool sees
	Fix   string // what to change
}

// A Seen is a recorded object, and what tools say about it.
type Seen struct {
	Object   *unstructured.Unstructured
	Upstream kstatus.Result // by the rules of cli-utils, which Helm and Flux have
	Ours     kstatus.Result // by those of [kstatus.Extended] with the definition
}

// A Report is what was found about a kind.
type Report struct {
	Kind     schema.GroupKind
	Findings []Finding // the ones that are Must first
	Seen     []Seen    // in the order of the recording
}

// Compatible reports whether there is no finding that is [Must].
func (r Report) Compatible() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Must })
}

// Kind audits a kind by its definition and recorded objects, in the order of time. Objects of other
// kinds are ignored. The definition is required, and not changed.
func Kind(definition *unstructured.Unstructured, recorded []*unstructured.Unstructured) Report {
	a := auditor{rules: kstatus.Extended().WithDefinitions(definition)}
	a.report.Kind.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	a.report.Kind.Kind, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "kind")
	a.definition(definition)
	for _, obj := range recorded {
		if obj.GroupVersionKind().GroupKind() == a.report.Kind {
			a.see(obj)
		}
	}
	a.recording()
	slices.SortStableFunc(a.report.Findings, func(x, y Finding) int { return strings.Compare(string(x.Level), string(y.Level)) })
	return a.report
}

// An auditor collects findings.
type auditor struct {
	rules  *kstatus.Rules
	report Report
}

// add adds a finding once.
func (a *auditor) add(level Level, path, what, fix string) {
	f := Finding{level, path, what, fix}
	if !slices.Contains(a.report.Findings, f) {
		a.report.Findings = append(a.report.Findings, f)
	}
}

func (a *auditor) see(obj *unstructured.Unstructured) {
	now := latest(obj)
	a.report.Seen = append(a.report.Seen, Seen{obj, kstatus.Standard().Compute(obj, now), a.rules.Compute(obj, now)})
}

// latest returns the latest time in an object, so that a verdict is that of the time of the
// recording; without one it is the creation.
func latest(obj *unstructured.Unstructured) time.Time {
	at := obj.GetCreationTimestamp().Time
	for _, c := range conditionsOf(obj) {
		text, _ := c["lastTransitionTime"].(string)
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.After(at) {
			at = t
		}
	}
	return at
}

func conditionsOf(obj *unstructured.Unstructured) (out []map[string]any) {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

// String returns the report as Markdown.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Readiness of %s\n\n", r.Kind)
	switch {
	case len(r.Findings) == 0:
		b.WriteString("Tools that wait for objects can read its status: nothing was found.\n")
	case r.Compatible():
		b.WriteString("Tools that wait for objects can read its status, but have to guess in part.\n")
	default:
		b.WriteString("Tools that wait for objects (Helm, Flux, kubectl, Argo CD) are wrong about it at times.\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n- **%s** `%s`: %s\n  Fix: %s\n", f.Level, cell(f.Path), cell(f.What), cell(f.Fix))
	}
	if len(r.Seen) > 0 {
		b.WriteString("\nWhat tools see of the recorded objects:\n\n| object | generation | kstatus of cli-utils | better rules | which rest on |\n|---|---|---|---|---|\n")
	}
	for _, s := range r.Seen {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", cell(s.Object.GetName()), s.Object.GetGeneration(), cell(s.Upstream.String()), cell(s.Ours.String()), s.Ours.Basis)
	}
	return b.String()
}

// cell returns text for a line of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(printable.Line(text))
}
