package kstatus

import (
	"iter"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Rule returns its verdict on an object, or false if it has no opinion. It must be pure: it
// changes nothing, keeps nothing, and reads no clock but [Object.Now].
type Rule func(Object) (Result, bool)

// Rules compute the status of objects of all kinds. They are tried in this order, and the first one
// with an opinion decides:
//
//  1. the general rules that hold for every kind in every profile: deletion, generation, parts that
//     cannot be read, Reconciling=True and Stalled=True
//  2. the rules of [Rules.With] for the kind of the object, those of the last call first
//  3. the rules of the profile for the kind, the most specific ones first
//  4. the general rules for the rest, such as the Ready condition
//
// Rules are immutable and safe for concurrent use.
type Rules struct {
	before      []step  // tried only if [Object.needsGeneralRules]
	given       []table // of With, those of the last call first
	table               // of the profile
	standard    bool    // upstream's rules for built-in kinds follow those of table.kinds
	after       []step  // tried last
	waitForJobs bool    // a running Job is InProgress
	noWait      bool    // see [Rules.HonorNoWait]
	definitions map[schema.GroupVersionKind]*definition
	distinct    bool          // of several conditions of one type, the worst counts; upstream takes the first
	combine     combineFailed // how children change the verdict on their owner
}

// A table holds rules for kinds.
type table struct {
	kinds    kindRules   // for one kind of one group
	groups   kindRules   // for all kinds of a group; the keys have an empty Kind
	suffixes suffixRules // for groups that end with the key
}

// A step is a rule with the name under which explanations show it.
type step struct {
	name  string
	rule  Rule
	basis Basis // of a verdict that does not name its own
}

// kindRules are rules by kind, the ones that are tried first first.
type kindRules map[schema.GroupKind][]step

// suffixRules are rules by the ending of the group, such as ".example.com". Their keys have an
// empty Group.
type suffixRules map[string]kindRules

// prepend adds a rule that is tried before the others of the same kind. It leaves shared slices
// alone.
func (k kindRules) prepend(kind schema.GroupKind, s step) {
	k[kind] = append([]step{s}, k[kind]...)
}

const anyKind = "*"

// Standard returns the rules of upstream, which are exact for well-formed objects.
func Standard() *Rules { return standard }

// With returns rules that try the given ones before all rules of the profile for the kind, and
// before the rules of earlier calls.
//
// The general rules come first all the same: no rule for a kind hides that an object is being
// deleted, that its controller has not observed the latest generation, or that it is Reconciling or
// Stalled.
//
// A kind of "*" stands for all kinds of a group, a group of "*.example.com" for all groups below
// example.com, and a group of "*" for all groups. An exact group comes before a suffix, and a
// longer suffix before a shorter one. Within a group, an exact kind comes before "*". A nil rule is
// ignored.
func (r *Rules) With(rules map[schema.GroupKind]Rule) *Rules {
	out := *r
	given := newTable()
	given.addAll(rules)
	out.given = append([]table{given}, r.given...)
	return &out
}

// extendedBy returns a profile whose table has further rules, tried first among the ones that are
// equally specific.
func (r *Rules) extendedBy(rules map[schema.GroupKind]Rule) *Rules {
	out := *r
	out.table = r.table.clone()
	out.addAll(rules)
	return &out
}

func (t *table) clone() table {
	out := newTable()
	maps.Copy(out.kinds, t.kinds)
	maps.Copy(out.groups, t.groups)
	for suffix, kinds := range t.suffixes {
		out.suffixes[suffix] = maps.Clone(kinds)
	}
	return out
}

func newTable() table {
	return table{kinds: kindRules{}, groups: kindRules{}, suffixes: suffixRules{}}
}

func (t *table) addAll(rules map[schema.GroupKind]Rule) {
	for kind, rule := range rules {
		if rule != nil {
			t.add(kind, step{kind.String(), rule, BasisKind})
		}
	}
}

func (t *table) add(kind schema.GroupKind, s step) {
	suffix, isSuffix := strings.CutPrefix(kind.Group, "*")
	switch {
	case isSuffix:
		if t.suffixes[suffix] == nil {
			t.suffixes[suffix] = kindRules{}
		}
		t.suffixes[suffix].prepend(schema.GroupKind{Kind: kind.Kind}, s)
	case kind.Kind == anyKind:
		t.groups.prepend(schema.GroupKind{Group: kind.Group}, s)
	default:
		t.kinds.prepend(kind, s)
	}
}

// Generic returns the rules without those for particular kinds.
func (r *Rules) Generic() *Rules {
	out := *r
	out.given, out.table, out.standard = nil, table{}, false
	return &out
}

// WaitForJobs returns rules to which a running Job is InProgress until it is complete. If wait is
// false, it is Current once it has started. Standard does not wait, Extended does.
func (r *Rules) WaitForJobs(wait bool) *Rules {
	out := *r
	out.waitForJobs = wait
	return &out
}

// Compute returns the status of an object at a time. It always has an answer: what cannot be
// determined is Unknown, with a reason. The object is neither changed nor kept.
func (r *Rules) Compute(obj *unstructured.Unstructured, now time.Time) (result Result) {
	if obj == nil || obj.Object == nil {
		return Unknown.Because("NoObject", "There is no object")
	}
	var o Object
	r.read(&o, obj.Object, now)
	if !r.decide(&o, &result) {
		result = nothingSaid
	}
	if d := r.definitionOf(&o); d != nil {
		d.refine(&o, &result)
	}
	result.note(&o)
	return result
}

// read fills a zero Object for these rules.
func (r *Rules) read(o *Object, fields map[string]any, now time.Time) {
	o.waitForJobs = r.waitForJobs
	o.read(fields, now)
	if r.distinct {
		o.dropDuplicates()
	}
}

// note stores what could not be read. If that is the observedGeneration, no one knows which spec the
// status is about.
func (r *Result) note(o *Object) {
	r.skipped = o.skipped
	if o.skipped == skippedGeneration && r.Basis > BasisWords {
		r.Basis = BasisWords
	}
}

// decide stores the verdict of the first rule that has an opinion. It does not return the verdict
// because a Result is large: each copy takes as long as reading a field of the object.
func (r *Rules) decide(o *Object, verdict *Result) (decided bool) {
	if r.noWait && firstOpinion(noWaitSteps, o, verdict) {
		return true
	}
	if o.needsGeneralRules() && firstOpinion(r.before, o, verdict) {
		return true
	}
	for i := range r.given {
		if r.given[i].decide(o, verdict) {
			return true
		}
	}
	if len(r.kinds) > 0 && firstOpinion(r.kinds[o.groupKind()], o, verdict) {
		return true
	}
	if r.standard && standardRule(o, verdict) {
		verdict.Basis = BasisKind
		return true
	}
	for steps := range r.wildcards(o) {
		if firstOpinion(steps, o, verdict) {
			return true
		}
	}
	return firstOpinion(r.after, o, verdict)
}

// decide is decide with the rules of a table only.
func (t *table) decide(o *Object, verdict *Result) (decided bool) {
	if firstOpinion(t.kinds[o.groupKind()], o, verdict) {
		return true
	}
	for steps := range t.wildcards(o) {
		if firstOpinion(steps, o, verdict) {
			return true
		}
	}
	return false
}

func firstOpinion(steps []step, o *Object, verdict *Result) (decided bool) {
	for i := range steps {
		if result, ok := steps[i].rule(*o); ok {
			*verdict = result
			verdict.restOn(steps[i].basis)
			return true
		}
	}
	return false
}

// wildcards yields the rules for more than one kind, the most specific ones first.
func (t *table) wildcards(o *Object) iter.Seq[[]step] {
	return func(yield func([]step) bool) {
		if len(t.groups) > 0 && !yield(t.groups[schema.GroupKind{Group: o.group}]) || len(t.suffixes) == 0 {
			return
		}
		for i := range len(o.group) + 1 {
			if i < len(o.group) && o.group[i] != '.' {
				continue
			}
			kinds := t.suffixes[o.group[i:]]
			if !yield(kinds[schema.GroupKind{Kind: o.kind}]) || !yield(kinds[schema.GroupKind{Kind: anyKind}]) {
				return
			}
		}
	}
}

// steps returns all rules for an object in the order in which they are tried.
func (r *Rules) steps(o *Object) []step {
	var steps []step
	if r.noWait {
		steps = append(steps, noWaitSteps...)
	}
	steps = append(steps, r.before...)
	for i := range r.given {
		steps = append(steps, r.given[i].kinds[o.groupKind()]...)
		for wildcard := range r.given[i].wildcards(o) {
			steps = append(steps, wildcard...)
		}
	}
	steps = append(steps, r.kinds[o.groupKind()]...)
	if standardRule(o, &Result{}) && r.standard {
		steps = append(steps, step{o.groupKind().String(), func(o Object) (r Result, ok bool) {
			ok = standardRule(&o, &r)
			return r, ok
		}, BasisKind})
	}
	for wildcard := range r.wildcards(o) {
		steps = append(steps, wildcard...)
	}
	return append(steps, r.after...)
}
