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

// A Rule gives its verdict on an object, or false if it has no opinion. It is pure: it changes nothing, keeps nothing, and reads no clock but
// [Object.Now].
type Rule func(Object) (Result, bool)

// Rules decide about objects of all kinds. The first rule with an opinion wins: first those of the generic layer that hold for everything
// (deletion, generation, standard conditions), then those of the kind, most specific first, then the rest of the generic layer.
//
// Rules are immutable and safe for concurrent use.
type Rules struct {
	before      []step
	kinds       table
	wildcards   table // by what follows the * of the group
	after       []step
	waitForJobs bool
	transient   bool // failures of Pods that may pass do not fail their owner, and children explain
}

// A step is a rule with the name that explanations give it.
type step struct {
	name string
	rule Rule
}

type table map[schema.GroupKind][]step

const anyKind = "*"

// Standard returns the rules of upstream, exact for well-formed objects.
func Standard() *Rules { return standard }

// With returns rules that try the given ones before their own rules for the same kinds. A kind of "*" stands for all kinds of a group,
// a group of "*.example.com" for all groups below example.com, a group of "*" for all groups. An exact group precedes a longer suffix, that a
// shorter one; within a group an exact kind precedes "*".
func (r *Rules) With(rules map[schema.GroupKind]Rule) *Rules {
	out := *r
	out.kinds, out.wildcards = maps.Clone(r.kinds), maps.Clone(r.wildcards)
	for kind, rule := range rules {
		if rule == nil {
			continue
		}
		into, key := &out.kinds, kind
		if suffix, wild := strings.CutPrefix(kind.Group, "*"); wild {
			into, key = &out.wildcards, schema.GroupKind{Group: suffix, Kind: kind.Kind}
		}
		into.prepend(key, step{kind.String(), rule})
	}
	return &out
}

func (t *table) prepend(kind schema.GroupKind, s step) {
	if *t == nil {
		*t = table{}
	}
	(*t)[kind] = append([]step{s}, (*t)[kind]...)
}

// Generic returns the rules without those for kinds.
func (r *Rules) Generic() *Rules {
	out := *r
	out.kinds, out.wildcards = nil, nil
	return &out
}

// WaitForJobs returns rules to which a running Job is InProgress until it is complete, or, if wait is false, Current once it has
// started. Standard does not wait.
func (r *Rules) WaitForJobs(wait bool) *Rules {
	out := *r
	out.waitForJobs = wait
	return &out
}

// Compute returns the status of an object at a time. It always has an answer: what cannot be told is Unknown, with a reason. The object is
// neither changed nor kept.
func (r *Rules) Compute(obj *unstructured.Unstructured, now time.Time) Result {
	if obj == nil || obj.Object == nil {
		return Unknown.Because("NoObject", "There is no object")
	}
	o := newObject(obj.Object, now)
	o.waitForJobs = r.waitForJobs
	result := r.decide(o)
	result.skipped = o.skipped
	return result
}

func (r *Rules) decide(o Object) Result {
	for _, s := range r.before {
		if result, ok := s.rule(o); ok {
			return result
		}
	}
	for s := range r.specific(o) {
		if result, ok := s.rule(o); ok {
			return result
		}
	}
	for _, s := range r.after {
		if result, ok := s.rule(o); ok {
			return result
		}
	}
	return current
}

// specific yields the rules for the kind of an object, most specific first.
func (r *Rules) specific(o Object) iter.Seq[step] {
	return func(yield func(step) bool) {
		_ = r.kinds.each(o.group, o.kind, yield) && r.each(o, yield)
	}
}

func (r *Rules) each(o Object, yield func(step) bool) bool {
	if len(r.wildcards) == 0 {
		return true
	}
	for rest := o.group; ; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			return r.wildcards.each("", o.kind, yield)
		}
		if !r.wildcards.each(rest[dot:], o.kind, yield) {
			return false
		}
		rest = rest[dot+1:]
	}
}

func (t table) each(group, kind string, yield func(step) bool) bool {
	for _, k := range [...]string{kind, anyKind} {
		for _, s := range t[schema.GroupKind{Group: group, Kind: k}] {
			if !yield(s) {
				return false
			}
		}
	}
	return true
}

// steps are all rules for an object, in the order in which they are tried.
func (r *Rules) steps(o Object) []step {
	return slices.Concat(r.before, slices.Collect(r.specific(o)), r.after)
}
