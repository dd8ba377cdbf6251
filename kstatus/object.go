package kstatus

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An Object is a rule's view of an object, tolerant of what decoders do: every integer or float type, json.Number and digit strings
// are numbers, null is absent, what has the wrong type is absent. It is
// read only, and for the one call that it was passed to.
type Object struct {
	fields      map[string]any
	metadata    map[string]any
	status      map[string]any
	spec        map[string]any // set when first read
	counts      map[string]any // the status too, but nil while a trace is kept: then all numbers are unusual
	conditions  []any
	group, kind string
	now         time.Time
	trace       *trace // nil unless someone asked for an explanation

	marks       [8]mark // of the first conditions
	marked      uint64  // the set of the marks of all conditions
	unreadable  string  // the part that has the wrong shape for any verdict
	standard    int32   // 1 + index of the first Reconciling=True or Stalled=True
	skipped     int32   // 1 + index of the first condition that cannot be read
	notable     bool    // something is there that the first part of the generic layer may have an opinion on
	waitForJobs bool
}

// A typeMeta is what an object says that it is.
type typeMeta struct{ apiVersion, kind string }

func typeOf(fields map[string]any) typeMeta {
	version, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	return typeMeta{version, kind}
}

// read sets everything but the options.
func (o *Object) read(fields map[string]any, t typeMeta, now time.Time) {
	o.fields, o.now = fields, now
	o.group, o.kind = groupOf(t.apiVersion), t.kind
	o.metadata = o.mapping(fields["metadata"], "metadata")
	if o.status = o.mapping(fields["status"], "status"); o.status != nil {
		o.readStatus()
	}
	if o.metadata["deletionTimestamp"] != nil {
		o.notable = true
	}
}

func (o *Object) readStatus() {
	o.counts = o.status
	if v := o.status["observedGeneration"]; v != nil {
		observed, usual := v.(int64)
		generation, plain := o.metadata["generation"].(int64)
		if !usual || !plain || observed != generation {
			o.notable = true
		}
	}
	o.conditions = o.list(o.status["conditions"], "status.conditions")
	o.survey()
}

// groupOf is the group of an apiVersion, "" for core and for what is none.
func groupOf(version string) string {
	switch version { // what most objects have
	case "v1":
		return ""
	case "apps/v1":
		return "apps"
	}
	slash := 0
	for i := range len(version) {
		switch {
		case version[i] != '/':
		case slash > 0 || i == 0:
			return ""
		default:
			slash = i
		}
	}
	return version[:slash]
}

// mapping reads a map, or remembers that something else is in its place.
func (o *Object) mapping(v any, path string) map[string]any {
	if m, usual := v.(map[string]any); usual {
		return m
	}
	return o.unusualMapping(v, path)
}

// unusualMapping is kept out of line so that mapping can be in line.
//
//go:noinline
func (o *Object) unusualMapping(v any, path string) map[string]any {
	m, ok := object.ToMap(v)
	o.require(ok || v == nil, path)
	return m
}

func (o *Object) list(v any, path string) []any {
	if s, usual := v.([]any); usual {
		return s
	}
	return o.unusualList(v, path)
}

func (o *Object) unusualList(v any, path string) []any {
	s, ok := object.ToSlice(v)
	o.require(ok || v == nil, path)
	return s
}

// require remembers the first part that has the wrong shape.
func (o *Object) require(readable bool, path string) {
	if !readable && o.unreadable == "" {
		o.unreadable, o.notable = path, true
	}
}

// survey finds what every verdict needs to know of the conditions: their marks, the first standard one that holds, and the first unreadable one.
// It reads the usual marks itself, for a call per condition is felt.
func (o *Object) survey() {
	for i, item := range o.conditions {
		fields, _ := item.(map[string]any)
		kind, _ := fields["type"].(string)
		status, _ := fields["status"].(string)
		m := typeMark(kind) | statusMark(status)
		if kind == "" || status == "" {
			m = markOf(item)
		}
		if i < len(o.marks) {
			o.marks[i] = m
		}
		o.marked |= m.bit()
	}
	if o.marked&unusualMarks != 0 {
		o.surveyUnusual()
	}
}

func (o *Object) surveyUnusual() {
	for i, item := range o.conditions {
		switch o.mark(i) {
		case unreadable:
			if item != nil && o.skipped == 0 {
				o.skipped = int32(i + 1)
			}
		case isReconciling | isTrue, isStalled | isTrue:
			if c, _ := look(item); o.standard == 0 && !c.ours() {
				o.standard, o.notable = int32(i+1), true
			}
		}
	}
}

// Fields is the whole object. Rules must not change it.
func (o *Object) Fields() map[string]any { return o.fields }

// Group is the API group, "" for core.
func (o *Object) Group() string { return o.group }

// Kind is the kind.
func (o *Object) Kind() string { return o.kind }

// Now is the time that the verdict is for. A rule that reads it says in RecheckAfter when to look again.
func (o *Object) Now() time.Time { return o.now }

// Value returns what is at the path; nil if nothing is.
func (o *Object) Value(path ...string) any {
	v := o.get(path)
	if o.trace != nil {
		o.trace.see(strings.Join(path, "."), v)
	}
	return v
}

// get saves the look-up of the parts that most rules read.
func (o *Object) get(path []string) any {
	if len(path) < 2 {
		v, _ := object.Get(o.fields, path...)
		return v
	}
	from, rest := o.fields, path
	switch path[0] {
	case "status":
		from, rest = o.status, path[1:]
	case "spec":
		if o.spec == nil {
			o.spec = fieldsOf(o.fields["spec"])
		}
		from, rest = o.spec, path[1:]
	}
	if len(rest) == 1 {
		return from[rest[0]]
	}
	v, _ := object.Get(from, rest...)
	return v
}

// setting returns a field of the spec.
func (o *Object) setting(field string) any {
	if o.spec == nil {
		o.spec = fieldsOf(o.fields["spec"])
	}
	v := o.spec[field]
	o.note("spec", field, v)
	return v
}

// note remembers for an explanation that a field was read.
func (o *Object) note(part, field string, v any) {
	if o.trace != nil {
		o.trace.see(part+"."+field, v)
	}
}

// wanted is how many replicas the spec asks for.
func (o *Object) wanted() int64 {
	if o.spec == nil {
		o.spec = fieldsOf(o.fields["spec"])
	}
	if n, usual := o.spec["replicas"].(int64); usual && o.trace == nil {
		return n
	}
	return o.unusualWanted()
}

func (o *Object) unusualWanted() int64 {
	if n, ok := integer(o.setting("replicas")); ok {
		return n
	}
	return 1
}

// Int returns the integer at the path.
func (o *Object) Int(path ...string) (int64, bool) { return integer(o.Value(path...)) }

// IntOr returns the integer at the path, or the fallback.
func (o *Object) IntOr(fallback int64, path ...string) int64 {
	if n, ok := o.Int(path...); ok {
		return n
	}
	return fallback
}

// Text returns the string at the path, or "".
func (o *Object) Text(path ...string) string {
	s, _ := o.Value(path...).(string)
	return s
}

// Bool returns the bool at the path, or false.
func (o *Object) Bool(path ...string) bool {
	b, _ := o.Value(path...).(bool)
	return b
}

// Map returns the map at the path, or nil.
func (o *Object) Map(path ...string) map[string]any {
	m, _ := object.ToMap(o.Value(path...))
	return m
}

// List returns the list at the path, or nil.
func (o *Object) List(path ...string) []any {
	s, _ := object.ToSlice(o.Value(path...))
	return s
}

// Generations returns metadata.generation and status.observedGeneration, or false if one of them is missing.
func (o *Object) Generations() (generation, observed int64, ok bool) {
	observed, seen := o.Int("status", "observedGeneration")
	if !seen {
		return 0, 0, false
	}
	generation, ok = o.Int("metadata", "generation")
	return generation, observed, ok
}

// Conditions yields the elements of status.conditions that can be read, in their order.
func (o *Object) Conditions() iter.Seq[Condition] {
	return func(yield func(Condition) bool) {
		for _, item := range o.conditions {
			if c, ok := readCondition(item); ok && !yield(c) {
				return
			}
		}
	}
}

// Condition returns the first condition of a type.
func (o *Object) Condition(kind string) (Condition, bool) { return o.find(kind, "", "") }

// find returns the first condition of a type that has a status and a reason; "" stands for any.
func (o *Object) find(kind, status, reason string) (Condition, bool) {
	g, ok := o.glimpse(kind, status, reason)
	if !ok {
		return Condition{}, false
	}
	return g.condition(), true
}

// glimpse is find for who needs no more than to know that it is there.
func (o *Object) glimpse(kind, status, reason string) (glance, bool) {
	wanted := typeMark(kind)
	for i := range o.conditions {
		if o.mark(i).kind() != wanted {
			continue
		}
		if g, ok := o.glance(i); ok && g.is(kind, status, reason) {
			o.sawStatus(g)
			return g, true
		}
	}
	o.sawStatus(glance{kind: kind})
	return glance{}, false
}

func (o *Object) saw(c Condition) { o.sawStatus(glance{kind: c.Type, status: c.Status}) }

func (o *Object) sawStatus(g glance) {
	if o.trace != nil {
		o.trace.see(InProgress.because("", text("")).on(g).Field()+".status", g.status)
	}
}

// integer reads a number of any type, also one in digits.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case nil:
		return 0, false
	case int64:
		return n, true
	case string:
		if strings.Trim(n, "+-0123456789") != "" {
			return 0, false // an error would take memory
		}
		i, err := strconv.ParseInt(n, 10, 64)
		return i, err == nil
	}
	return object.ToInt64(v)
}

// mapOf is object.ToMap, with the usual case in line.
func mapOf(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	return object.ToMap(v)
}

// fieldsOf is a map, or nil for what is none.
func fieldsOf(v any) map[string]any {
	if m, usual := v.(map[string]any); usual {
		return m
	}
	return unusualFields(v)
}

//go:noinline
func unusualFields(v any) map[string]any {
	m, _ := object.ToMap(v)
	return m
}

// count returns a number of the status, 0 if it is not there.
func (o *Object) count(field string) int64 {
	if n, usual := o.counts[field].(int64); usual {
		return n
	}
	return o.unusualCount(field)
}

func (o *Object) unusualCount(field string) int64 {
	v := o.status[field]
	o.note("status", field, v)
	n, _ := integer(v)
	return n
}

// created returns metadata.creationTimestamp; the zero time if there is none.
func (o *Object) created() time.Time {
	s := o.Text("metadata", "creationTimestamp")
	if s == "" {
		return time.Time{} // and no error is made
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at
}
