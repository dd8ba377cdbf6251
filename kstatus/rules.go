package kstatus

import (
	"iter"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Rule gives its verdict on an object, or false if it has no opinion. It is pure: it changes nothing, keeps nothing, and reads no clock but
// [Object.Now].
type Rule func(Object) (Result, bool)

// Rules decide about objects of all kinds. The first rule with an opinion wins: first those of the generic layer that hold for everything,
// in every profile (deletion, generation, what cannot be read, Reconciling=True and Stalled=True), then those of the kind, most specific
// first, then the rest of the generic layer.
//
// Rules are immutable and safe for concurrent use.
type Rules struct {
	before      []step            // tried only on objects that are notable: deletion, generation, readability, standard conditions
	kinds       *table            // nil if there are none
	upstream    bool              // the rules of upstream follow those of kinds
	groups      *table            // for all kinds of a group, which is the key; nil if there are none
	suffixes    map[string]*table // for groups that end with the key
	after       []step
	waitForJobs bool
	transient   bool // failures of Pods that may pass do not fail their owner, and children explain
}

// A step is a rule with the name that explanations give it.
type step struct {
	name string
	rule Rule
	bare bool // has an opinion on objects without a status alone, and need not be asked about others
}

// A table holds rules by kind and group. It hashes by hand, for a look-up must cost less than one in the object.
type table [tableSize][]entry

const tableSize = 64

type entry struct {
	kind  schema.GroupKind
	steps []step
}

// hash tells words apart by three of their letters and their lengths.
func hash[T string | []byte](word T) int {
	if len(word) == 0 {
		return 0
	}
	return 31*len(word) + 17*int(word[0]) + 5*int(word[len(word)/2]) + 3*int(word[len(word)-1])
}

func (t *table) of(group, kind string) []step {
	if t == nil {
		return nil
	}
	entries := t[hash(kind)%tableSize]
	for i := range entries {
		if entries[i].kind.Kind == kind && entries[i].kind.Group == group {
			return entries[i].steps
		}
	}
	return nil
}

// add puts a step before those of the same kind. Entries may be shared with other tables.
func (t *table) add(kind schema.GroupKind, s step) {
	e := entry{kind, append([]step{s}, t.of(kind.Group, kind.Kind)...)}
	entries := &t[hash(kind.Kind)%tableSize]
	others := slices.Clone(*entries)
	*entries = append(slices.DeleteFunc(others, func(o entry) bool { return o.kind == kind }), e)
}

// copy returns a table that can be added to.
func (t *table) copy() *table {
	if t == nil {
		return &table{}
	}
	out := *t
	return &out
}

const anyKind = "*"

// Standard returns the rules of upstream, exact for well-formed objects.
func Standard() *Rules { return standard }

// With returns rules that try the given ones before their own rules for the same kinds, but after what holds for everything: no rule of a
// kind hides that an object is being deleted, that its latest generation was not seen, or that it says itself that it is Reconciling or
// Stalled. A kind of "*" stands for all kinds of a group, a group of "*.example.com" for all groups below example.com, a group of "*" for
// all groups. An exact group precedes a longer suffix, that a shorter one; within a group an exact kind precedes "*".
func (r *Rules) With(rules map[schema.GroupKind]Rule) *Rules {
	out := *r
	out.kinds, out.groups, out.suffixes = r.kinds.copy(), r.groups.copy(), make(map[string]*table, len(r.suffixes))
	for suffix, t := range r.suffixes {
		out.suffixes[suffix] = t.copy()
	}
	for kind, rule := range rules {
		if rule != nil {
			out.add(kind, step{name: kind.String(), rule: rule})
		}
	}
	return &out
}

// add puts a rule into the table that it belongs in.
func (r *Rules) add(kind schema.GroupKind, s step) {
	suffix, wild := strings.CutPrefix(kind.Group, "*")
	switch {
	case wild:
		if r.suffixes[suffix] == nil {
			r.suffixes[suffix] = &table{}
		}
		r.suffixes[suffix].add(schema.GroupKind{Kind: kind.Kind}, s)
	case kind.Kind == anyKind:
		r.groups.add(schema.GroupKind{Kind: kind.Group}, s)
	default:
		r.kinds.add(kind, s)
	}
}

// Generic returns the rules without those for kinds.
func (r *Rules) Generic() *Rules {
	out := *r
	out.kinds, out.groups, out.suffixes, out.upstream = nil, nil, nil, false
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
func (r *Rules) Compute(obj *unstructured.Unstructured, now time.Time) (result Result) {
	r.judge(obj, now, &result)
	return result
}

// judge makes an empty result the verdict. It stores instead of returning it because a Result is long, and is copied on each way out.
func (r *Rules) judge(obj *unstructured.Unstructured, now time.Time, verdict *Result) {
	if obj == nil || obj.Object == nil {
		*verdict = Unknown.Because("NoObject", "There is no object")
		return
	}
	t := typeOf(obj.Object)
	if t.isDeployment() && r.upstream && r.kinds == nil && steady(obj.Object, verdict) {
		return
	}
	o := Object{waitForJobs: r.waitForJobs}
	o.read(obj.Object, t, now)
	decided := o.notable && first(r.before, &o, verdict) ||
		r.kinds != nil && first(r.kinds.of(o.group, o.kind), &o, verdict) ||
		r.upstream && o.upstream(verdict) ||
		r.last(&o, verdict)
	if !decided {
		*verdict = current
	}
	if o.skipped != 0 {
		verdict.skipped = o.skipped
	}
}

// last stores the verdict of the first rule that has an opinion, if any, of those for more than one kind.
func (r *Rules) last(o *Object, verdict *Result) bool {
	for steps := range r.wide(o) {
		if first(steps, o, verdict) {
			return true
		}
	}
	return first(r.after, o, verdict)
}

// first stores the verdict of the first step that has an opinion. If none has, the verdict is left empty, which those who store theirs in parts
// rely on.
func first(steps []step, o *Object, verdict *Result) (decided bool) {
	for i := range steps {
		if steps[i].bare && len(o.status) > 0 {
			continue
		}
		if *verdict, decided = steps[i].rule(*o); decided {
			return true
		}
	}
	*verdict = Result{}
	return false
}

// wide yields the rules for more than the kind of an object, most specific first.
func (r *Rules) wide(o *Object) iter.Seq[[]step] {
	return func(yield func([]step) bool) {
		if r.groups != nil && !yield(r.groups.of("", o.group)) {
			return
		}
		if len(r.suffixes) > 0 {
			r.wild(o, yield)
		}
	}
}

// wild yields the rules for the endings of the group, from the longest to the empty one.
func (r *Rules) wild(o *Object, yield func([]step) bool) {
	for i := range len(o.group) + 1 {
		if i < len(o.group) && o.group[i] != '.' {
			continue
		}
		t := r.suffixes[o.group[i:]]
		if t != nil && (!yield(t.of("", o.kind)) || !yield(t.of("", anyKind))) {
			return
		}
	}
}

// steps are all rules for an object, in the order in which they are tried.
func (r *Rules) steps(o *Object) []step {
	steps := slices.Concat(r.before, r.kinds.of(o.group, o.kind))
	if _, known := upstream(*o); known && r.upstream {
		steps = append(steps, step{name: schema.GroupKind{Group: o.group, Kind: o.kind}.String(), rule: upstream})
	}
	for wide := range r.wide(o) {
		steps = append(steps, wide...)
	}
	return append(steps, r.after...)
}
