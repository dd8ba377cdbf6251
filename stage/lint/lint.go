// Package lint finds mistakes in Stages that compile: selectors that never match, Stages that can
// never be chosen or that repeat without end, and templates whose output YAML reads as another
// type.
//
// # Terminology
//
// A [Rule] is one kind of mistake. A [Finding] is one place where a rule applies. A probe is an
// object that lint builds to test Stages. It is an object as users create it, changed so that it
// matches a selector.
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
// Check treats all sources as one set, as [stage.Compile] does. It does not report what Compile
// reports; extensions count as if stage.Options allowed them. Rules that need a compiled Stage skip
// a Stage that does not compile. The other rules check the parts of it that can be read.
//
// The work for a Stage is limited, and a rule reports its first 100 findings in a Stage.
//
// Where possible, a rule runs the compiled Stages on probes instead of guessing from their text. A
// rule that is not certain reports nothing: lint can miss a mistake, but its findings are true.
// Only [Overlap], [ActsAs] and [WritesOthers] are informational, because they may be intended.
// Rules about fields and values know the built-in kinds of Kubernetes. They know only the metadata
// of other kinds.
//
// # Determinism
//
// The same sources give the same findings, in the order of the sources, the Stages and the rules.
//
// # Concurrency
//
// Check is safe for concurrent use. A Finding is plain data.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A Rule names a kind of mistake.
type Rule string

// The rules.
const (
	// Subtraction is a key such as .metadata.labels.job-type, which jq reads as
	// .metadata.labels.job minus the result of the function type.
	Subtraction Rule = "subtraction"
	// UnknownKind is a kind that its API group does not have, such as Deployment in v1, the group
	// of a Stage without an apiGroup.
	UnknownKind Rule = "unknown-kind"
	// NeverSet is a requirement on a field that objects of the kind do not have and that no Stage
	// writes.
	NeverSet Rule = "never-set"
	// UnknownValue is a requirement on a value that the field never has, because no API server,
	// controller or Stage writes it.
	UnknownValue Rule = "unknown-value"
	// Contradiction is a selector with two requirements that no object meets together.
	Contradiction Rule = "contradiction"
	// AlwaysFails is an expression that fails on every object, such as jq that assigns where it should
	// compare.
	AlwaysFails Rule = "always-fails"
	// FinishedPod is a Stage that makes Pods run again after they have Succeeded or Failed.
	FinishedPod Rule = "finished-pod"
	// ReadsTime is a selector that reads the current time, although selectors are evaluated only
	// when the object changes.
	ReadsTime Rule = "reads-time"
	// NeverWins is a Stage of weight 0 for which another Stage of positive weight always matches as
	// well.
	NeverWins Rule = "never-wins"
	// Overlap is two Stages without weights that can match the same object, so that one of them is
	// chosen at random. It is informational.
	Overlap Rule = "overlap"
	// Livelock is one Stage, or a sequence of Stages, that repeats without end and without a delay.
	Livelock Rule = "livelock"
	// TimeLoop is a Livelock that the current time in a template causes: without the time, the
	// second patch would change nothing.
	TimeLoop Rule = "time-loop"
	// NoEffect is a Stage that does nothing, or whose patches write only what its selector already
	// requires.
	NoEffect Rule = "no-effect"
	// JitterBelow is a jitter that is less than the duration, although the jitter is the upper
	// bound of the delay.
	JitterBelow Rule = "jitter-below"
	// NumericDuration is a delay given as a number: numbers from jq are ignored, numbers from CEL
	// are nanoseconds.
	NumericDuration Rule = "numeric-duration"
	// IgnoredNext is a part of spec.next that spec.steps does not have. A Stage with steps ignores
	// next.
	IgnoredNext Rule = "ignored-next"
	// RootlessStatus is a patch of the status subresource that does not change the status, usually
	// because root: status is missing.
	RootlessStatus Rule = "rootless-status"
	// StrategicPatch is a strategic merge patch of a custom resource. The API server refuses it,
	// because it does not know how to merge the lists.
	StrategicPatch Rule = "strategic-patch"
	// ConditionStatus is a condition that an extension adds without a status, which the API server
	// refuses for built-in kinds and most others.
	ConditionStatus Rule = "condition-status"
	// Unquoted is a value or key in a template that is meant as text. However, YAML reads it as a
	// number, a boolean or null.
	Unquoted Rule = "unquoted"
	// NoValue is a template that writes <no value>, which stands for a missing field, on objects that
	// the Stage matches.
	NoValue Rule = "no-value"
	// Unrendered is an action such as {{ .Release.Name }} that a chart should have rendered. It is
	// in a field that is not a template, in the output of a template, or it reads a value that only
	// charts have.
	Unrendered Rule = "unrendered"
	// UncheckedTarget is an apply of another object whose name or namespace the author of the
	// played object chooses. The selector does not require that the other object belongs to the
	// played object.
	UncheckedTarget Rule = "unchecked-target"
	// ActsAs is a Stage that impersonates a user. It is informational: a player of Stages from a
	// cluster refuses it, unless [stage.Allow] lists the user.
	ActsAs Rule = "acts-as"
	// WritesOthers is a Stage that applies another object. It is informational: a player of Stages
	// from a cluster refuses it, unless [stage.Allow] lists the object.
	WritesOthers Rule = "writes-others"
)

// Informational reports whether a finding of the rule can be intended.
func (r Rule) Informational() bool { return r == Overlap || r == ActsAs || r == WritesOthers }

// A Finding is one place in a Stage where a rule applies. It is plain data.
type Finding struct {
	Position stage.Position // zero if the Stage did not come from text
	Stage    string         // metadata.name
	Path     string         // the field, such as spec.delay.jitterDurationMilliseconds
	Rule     Rule
	Message  string // what is wrong
	Advice   string // what to write instead
}

// String prints `file:line:col: stage "name": field.path: message (advice) [rule]`, leaving out
// what is unknown.
func (f Finding) String() string {
	var b strings.Builder
	if p := f.Position.String(); p != "" {
		b.WriteString(p + ": ")
	}
	fmt.Fprintf(&b, "stage %q: %s: %s (%s) [%s]", f.Stage, f.Path, f.Message, f.Advice, f.Rule)
	return printable.Line(b.String())
}

// Check returns the findings in the Stages of the sources, which together make one set.
func Check(sources ...stage.Source) []Finding {
	var findings []Finding
	for _, s := range newCheckedStages(sources) {
		first := len(findings)
		for _, r := range rules {
			for _, fault := range firstFaults(r.check(s)) {
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

// A fault is a finding of one rule in a known Stage.
type fault struct {
	path            string
	offset          int // in the text of the field; -1: the whole field
	message, advice string
}

// maxFaults is the largest number of faults that one rule reports for a Stage.
const maxFaults = 100

// firstFaults are the first of many faults; the last of them says that there are more.
func firstFaults(faults []fault) []fault {
	if len(faults) <= maxFaults {
		return faults
	}
	faults = faults[:maxFaults]
	faults[maxFaults-1].message += ", and so in more places, which are not listed"
	return faults
}

// fieldFault is a fault of a whole field. The message is format with args.
func fieldFault(path, advice, format string, args ...any) fault {
	return fault{path: path, offset: -1, message: fmt.Sprintf(format, args...), advice: advice}
}

// rules are in the order in which a reader of a Stage meets the fields.
var rules = []struct {
	rule  Rule
	check func(*checkedStage) []fault
}{
	{UnknownKind, unknownKind},
	{Subtraction, subtractions},
	{NeverSet, neverSet},
	{UnknownValue, unknownValues},
	{Contradiction, contradictions},
	{AlwaysFails, alwaysFails},
	{FinishedPod, finishedPod},
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
	{ConditionStatus, conditionStatus},
	{Unquoted, unquoted},
	{NoValue, noValue},
	{Unrendered, unrendered},
	{UncheckedTarget, uncheckedTarget},
	{ActsAs, actsAs},
	{WritesOthers, writesOthers},
}
