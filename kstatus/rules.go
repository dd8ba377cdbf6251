package kstatus

import (
	"iter"
	"maps"
	"slices"
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
//  2. the rules for the kind of the object, the most specific ones first
//  3. the general rules for the rest, such as the Ready condition
//
// Rules are immutable and safe for concurrent use.
type Rules struct {
	before      []step        // tried only if [Object.needsGeneralRules]
	kinds       kindRules     // for one kind of one group
	standard    bool          // upstream's rules for built-in kinds follow those of kinds
	groups      kindRules     // for all kinds of a group; the keys have an empty Kind
	suffixes    suffixRules   // for groups that end with the key
	after       []step        // tried last
	waitForJobs bool          // a running Job is InProgress
	combine     combineFailed // how children change the verdict on their owner
}

// A step is a rule with the name under which explanations show it.
type step struct {
	name string
	rule Rule
}

// kindRules are rules by kind, those that are tried first first.
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

// With returns rules that try the given ones before their own rules for the same kinds.
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
	out.kinds, out.groups = cloneRules(r.kinds), cloneRules(r.groups)
	out.suffixes = make(suffixRules, len(r.suffixes))
	for suffix, kinds := range r.suffixes {
		out.suffixes[suffix] = cloneRules(kinds)
	}
	for kind, rule := range rules {
		if rule != nil {
			out.add(kind, step{name: kind.String(), rule: rule})
		}
	}
	return &out
}

func cloneRules(k kindRules) kindRules {
	if k == nil {
		return kindRules{}
	}
	return maps.Clone(k)
}

func (r *Rules) add(kind schema.GroupKind, s step) {
	suffix, isSuffix := strings.CutPrefix(kind.Group, "*")
	switch {
	case isSuffix:
		if r.suffixes[suffix] == nil {
			r.suffixes[suffix] = kindRules{}
		}
		r.suffixes[suffix].prepend(schema.GroupKind{Kind: kind.Kind}, s)
	case kind.Kind == anyKind:
		r.groups.prepend(schema.GroupKind{Group: kind.Group}, s)
	default:
		r.kinds.prepend(kind, s)
	}
}

// Generic returns the rules without those for particular kinds.
func (r *Rules) Generic() *Rules {
	out := *r
	out.kinds, out.groups, out.suffixes, out.standard = nil, nil, nil, false
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
	o := Object{waitForJobs: r.waitForJobs}
	o.read(obj.Object, now)
	if !r.decide(&o, &result) {
		result = current
	}
	result.skipped = o.skipped
	return result
}

// decide stores the verdict of the first rule that has an opinion. It does not return the verdict
// because a Result is large: each copy takes as long as reading a field of the object.
func (r *Rules) decide(o *Object, verdict *Result) (decided bool) {
	if o.needsGeneralRules() && firstOpinion(r.before, o, verdict) {
		return true
	}
	if len(r.kinds) > 0 && firstOpinion(r.kinds[o.groupKind()], o, verdict) {
		return true
	}
	if r.standard && standardRule(o, verdict) {
		return true
	}
	for steps := range r.wildcards(o) {
		if firstOpinion(steps, o, verdict) {
			return true
		}
	}
	return firstOpinion(r.after, o, verdict)
}

func firstOpinion(steps []step, o *Object, verdict *Result) (decided bool) {
	for i := range steps {
		if result, ok := steps[i].rule(*o); ok {
			*verdict = result
			return true
		}
	}
	return false
}

// wildcards yields the rules for more than one kind, the most specific ones first.
func (r *Rules) wildcards(o *Object) iter.Seq[[]step] {
	return func(yield func([]step) bool) {
		if len(r.groups) > 0 && !yield(r.groups[schema.GroupKind{Group: o.group}]) || len(r.suffixes) == 0 {
			return
		}
		for i := range len(o.group) + 1 {
			if i < len(o.group) && o.group[i] != '.' {
				continue
			}
			kinds := r.suffixes[o.group[i:]]
			if !yield(kinds[schema.GroupKind{Kind: o.kind}]) || !yield(kinds[schema.GroupKind{Kind: anyKind}]) {
				return
			}
		}
	}
}

// steps returns all rules for an object in the order in which they are tried.
func (r *Rules) steps(o *Object) []step {
	steps := slices.Concat(r.before, r.kinds[o.groupKind()])
	if standardRule(o, &Result{}) && r.standard {
		steps = append(steps, step{o.groupKind().String(), func(o Object) (r Result, ok bool) {
			ok = standardRule(&o, &r)
			return r, ok
		}})
	}
	for wildcard := range r.wildcards(o) {
		steps = append(steps, wildcard...)
	}
	return append(steps, r.after...)
}
