// Package lint finds what compiles in a set of Stages but cannot be meant: selectors that never hold, Stages that can never win or
// go on for ever, templates that YAML reads as something else.
//
// # Terminology
//
// A [Rule] is one kind of fault, a [Finding] one place where it is. A probe is an object made up for the Stages at hand: one of their
// kind as users create it, changed until it meets a selector, and what the Stages make of it.
//
// # Usage
//
//	source, err := stage.Load("stages/")
//	…
//	for _, f := range lint.Check(source) {
//		fmt.Println(f) // pod.yaml:12:9: stage "a": spec.delay…: the delay is … (advice) [jitter-below]
//	}
//
// # Semantics
//
// The sources are taken for one set, as by [stage.Compile]. Faults that keep a Stage from compiling are those of Compile, and not
// repeated: rules that need a compiled Stage leave such a Stage out, the others look at what can be read of it.
//
// Wherever it can be, a fact is found by playing the compiled Stages on probes, not guessed from their text, and a rule that doubts keeps
// silent: a fault may be missed, but what is reported is so. Only [Overlap] is information rather than a fault. Rules on fields and values
// know the kinds that are built into Kubernetes; of others they know the metadata.
//
// # Determinism
//
// The same sources give the same findings, in the order of the sources, the Stages and the rules.
//
// # Concurrency
//
// Check is safe for concurrent use, a Finding is plain data.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A Rule names a kind of fault.
type Rule string

// The rules.
const (
	// Subtraction is a key such as .metadata.labels.job-type, which jq reads as .metadata.labels.job minus the function type.
	Subtraction Rule = "subtraction"
	// UnknownKind is a kind that its group does not have, such as Deployment in v1, which it is without an apiGroup.
	UnknownKind Rule = "unknown-kind"
	// NeverSet is a requirement on a field that objects of the kind do not have and that no Stage writes.
	NeverSet Rule = "never-set"
	// UnknownValue is a requirement on a value that the field never has: no API server, controller or Stage writes it.
	UnknownValue Rule = "unknown-value"
	// Contradiction is a selector whose requirements exclude one another.
	Contradiction Rule = "contradiction"
	// ReadsTime is a selector that reads the time, although it is evaluated only when the object changes.
	ReadsTime Rule = "reads-time"
	// NeverWins is a Stage of weight 0 that another one of positive weight matches beside, always.
	NeverWins Rule = "never-wins"
	// Overlap is two Stages that can match at once, of which none has a weight: one of them is drawn. It is information.
	Overlap Rule = "overlap"
	// Livelock is one or more Stages that follow one another for ever without delay.
	Livelock Rule = "livelock"
	// TimeLoop is a Livelock that only comes of the time in a template: without it the patch would change nothing.
	TimeLoop Rule = "time-loop"
	// NoEffect is a Stage that does nothing, or whose patches say what its selector requires already.
	NoEffect Rule = "no-effect"
	// JitterBelow is a jitter, the upper bound of the delay, below the duration.
	JitterBelow Rule = "jitter-below"
	// NumericDuration is a delay read from a number: jq numbers are not read, those of CEL are nanoseconds.
	NumericDuration Rule = "numeric-duration"
	// IgnoredNext is spec.next with something in it that is not in spec.steps too, and so is never done.
	IgnoredNext Rule = "ignored-next"
	// RootlessStatus is a patch of the status subresource that does not touch the status.
	RootlessStatus Rule = "rootless-status"
	// StrategicPatch is a strategic merge patch of a custom resource, which the API server refuses: it does not know how its lists merge.
	StrategicPatch Rule = "strategic-patch"
	// Unquoted is a value or a key in a template that is meant as text and that YAML reads as a number, a boolean or null.
	Unquoted Rule = "unquoted"
)

// Information reports whether a finding of the rule may be meant.
func (r Rule) Informational() bool { return r == Overlap }

// A Finding is one place where a Stage says what cannot be meant.
type Finding struct {
	Position stage.Position // zero if the Stage did not come from text
	Stage    string         // metadata.name
	Path     string         // the field, such as spec.delay.jitterDurationMilliseconds
	Rule     Rule
	Message  string // what is so
	Advice   string // what to write instead
}

// String prints `file:line:col: stage "name": field.path: message (advice) [rule]`, leaving out what is unknown.
func (f Finding) String() string {
	var b strings.Builder
	if p := f.Position.String(); p != "" {
		b.WriteString(p + ": ")
	}
	fmt.Fprintf(&b, "stage %q: %s: %s (%s) [%s]", f.Stage, f.Path, f.Message, f.Advice, f.Rule)
	return b.String()
}

// Check returns what it finds in the Stages of the sources, which make one set.
func Check(sources ...stage.Source) []Finding {
	var findings []Finding
	for _, s := range newCheckedStages(sources) {
		first := len(findings)
		for _, r := range rules {
			for _, fault := range r.check(s) {
				findings = append(findings, Finding{
					Position: s.source.Locate(s.index, fault.path, fault.offset),
					Stage:    s.name, Path: fault.path, Rule: r.rule, Message: fault.message, Advice: fault.advice,
				})
			}
		}
		slices.SortStableFunc(findings[first:], func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
		})
	}
	return findings
}

// A fault is a finding of a rule in a known Stage.
type fault struct {
	path            string
	offset          int // in the text of the field; -1 for the whole
	message, advice string
}

// whole is a fault of a whole field.
func fieldFault(path, advice, format string, args ...any) fault {
	return fault{path: path, offset: -1, message: fmt.Sprintf(format, args...), advice: advice}
}

// rules are in the order in which a reader of a Stage would see them.
var rules = []struct {
	rule  Rule
	check func(*checkedStage) []fault
}{
	{UnknownKind, unknownKind},
	{Subtraction, subtractions},
	{NeverSet, neverSet},
	{UnknownValue, unknownValues},
	{Contradiction, contradictions},
	{ReadsTime, readsTime},
	{NeverWins, neverWins},
	{Overlap, overlaps},
	{JitterBelow, jitterBelow},
	{NumericDuration, numericDuration},
	{IgnoredNext, ignoredNext},
	{NoEffect, noEffect},
	{Livelock, livelock},
	{TimeLoop, timeLoop},
	{RootlessStatus, rootlessStatus},
	{StrategicPatch, strategicPatch},
	{Unquoted, unquoted},
}
