package kstatus

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An Object is what a [Rule] reads. It accepts what different decoders produce: every integer and
// float type, json.Number and strings of digits are numbers; null and values of the wrong type
// count as missing.
//
// It is read only, and valid only during the call of the rule that received it. It must not be used
// from several goroutines at once.
type Object struct {
	fields      map[string]any
	metadata    map[string]any
	spec        map[string]any // nil until a rule reads it
	status      map[string]any
	conditions  []any
	group, kind string
	now         time.Time
	trace       *trace // nil unless the caller wants an explanation

	unreadable  string // path of the first part of the wrong type on which every verdict rests
	skipped     int32  // see Result.skipped
	decisive    int32  // 1 + index of the first Reconciling=True or Stalled=True; 0: none
	waitForJobs bool   // see [Rules.WaitForJobs]
}

// read fills a zero Object with everything but the options of the rules.
func (o *Object) read(fields map[string]any, now time.Time) {
	version, _ := fields["apiVersion"].(string)
	o.kind, _ = fields["kind"].(string)
	o.group = groupOf(version)
	o.fields, o.now = fields, now
	o.metadata = o.requiredMap(fields["metadata"], "metadata")
	o.status = o.requiredMap(fields["status"], "status")
	if o.status != nil {
		o.readConditions()
		if v := o.status["observedGeneration"]; v != nil {
			if _, ok := integer(v); !ok {
				o.skipped = skippedGeneration
			}
		}
	}
}

// groupOf returns the group of an apiVersion: "" for the core group and for malformed versions.
func groupOf(apiVersion string) string {
	if apiVersion == "v1" {
		return "" // the usual case
	}
	slash := strings.IndexByte(apiVersion, '/')
	if slash < 0 || slash != strings.LastIndexByte(apiVersion, '/') {
		return ""
	}
	return apiVersion[:slash]
}

// requiredMap returns a map, and notes the path if a value of another type is in its place.
func (o *Object) requiredMap(v any, path string) map[string]any {
	if v == nil {
		return nil
	}
	m, ok := mapOf(v)
	if !ok {
		o.reportUnreadable(path)
	}
	return m
}

func (o *Object) reportUnreadable(path string) {
	if o.unreadable == "" {
		o.unreadable = path
	}
}

// readConditions finds status.conditions, the first condition that cannot be read, and the first
// one that decides for every kind.
func (o *Object) readConditions() {
	v := o.status["conditions"]
	conditions, ok := object.ToSlice(v)
	if !ok && v != nil {
		o.reportUnreadable("status.conditions")
	}
	o.setConditions(conditions)
}

func (o *Object) setConditions(conditions []any) {
	o.conditions = conditions
	for i, item := range conditions {
		c, ok := viewOf(item)
		switch {
		case !ok && item != nil && o.skipped == 0:
			o.skipped = int32(i + 1)
		case ok && o.decisive == 0 && c.isDecisive():
			o.decisive = int32(i + 1)
		}
	}
}

// needsGeneralRules reports whether one of the rules that come before those of the kind can have an
// opinion. For most objects none can.
func (o *Object) needsGeneralRules() bool {
	if o.unreadable != "" || o.decisive != 0 || o.metadata["deletionTimestamp"] != nil {
		return true
	}
	if o.status == nil {
		return false
	}
	observed, ok := integer(o.status["observedGeneration"])
	if !ok {
		return false
	}
	generation, ok := integer(o.metadata["generation"])
	return ok && generation != observed
}

// Fields returns the whole object. Rules must not change it.
func (o *Object) Fields() map[string]any { return o.fields }

// Group returns the API group, "" for the core group.
func (o *Object) Group() string { return o.group }

// Kind returns the kind.
func (o *Object) Kind() string { return o.kind }

func (o *Object) groupKind() schema.GroupKind { return schema.GroupKind{Group: o.group, Kind: o.kind} }

// Now returns the time for which the verdict is computed. A rule that reads it sets
// [Result].RecheckAfter to say when the object must be computed again.
func (o *Object) Now() time.Time { return o.now }

// Value returns the value at a path such as "spec", "size", or nil.
func (o *Object) Value(path ...string) any {
	v, _ := object.Get(o.fields, path...)
	if o.trace != nil {
		o.trace.record(strings.Join(path, "."), v)
	}
	return v
}

// Int returns the integer at the path, or false without one.
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

// Map returns the map at the path, or nil. Rules must not change it.
func (o *Object) Map(path ...string) map[string]any {
	m, _ := object.ToMap(o.Value(path...))
	return m
}

// List returns the list at the path, or nil. Rules must not change it.
func (o *Object) List(path ...string) []any {
	s, _ := object.ToSlice(o.Value(path...))
	return s
}

// Generations returns metadata.generation and status.observedGeneration, or false if one of them is
// missing.
func (o *Object) Generations() (generation, observed int64, ok bool) {
	observed, ok = o.Int("status", "observedGeneration")
	if !ok {
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

// Condition returns the first condition of a type, or false without one.
func (o *Object) Condition(kind string) (Condition, bool) { return o.find(kind, "", "") }

// find returns the first condition with a type, a status and a reason. An empty status or reason
// stands for any.
func (o *Object) find(kind, status, reason string) (Condition, bool) {
	c, ok := o.findView(kind, status, reason)
	if !ok {
		return Condition{}, false
	}
	return c.condition(), true
}

// findView is find for callers that do not need all fields of the condition.
func (o *Object) findView(kind, status, reason string) (conditionView, bool) {
	for _, item := range o.conditions {
		if c, ok := viewOf(item); ok && c.is(kind, status, reason) {
			o.recordCondition(c.kind, c.status)
			return c, true
		}
	}
	o.recordCondition(kind, "")
	return conditionView{}, false
}

// fresh returns the first condition of a type, or false without one or if it is about an older
// generation.
func (o *Object) fresh(kind string) (conditionView, bool) {
	for _, item := range o.conditions {
		c, ok := viewOf(item)
		if !ok || c.kind != kind || c.isAugmented() {
			continue
		}
		o.recordCondition(c.kind, c.status)
		return c, !c.isOutdated(o.generation())
	}
	o.recordCondition(kind, "")
	return conditionView{}, false
}

// generation returns metadata.generation, 0 without one.
func (o *Object) generation() int64 {
	n, _ := integer(o.metadata["generation"])
	return n
}

// recordField notes for an explanation that a rule has read a field.
func (o *Object) recordField(section, field string, v any) {
	if o.trace != nil {
		o.trace.record(section+"."+field, v)
	}
}

func (o *Object) recordCondition(kind, status string) {
	if o.trace != nil {
		o.trace.record(conditionPath(kind)+".status", status)
	}
}

// specField returns a field of the spec, nil if it is missing.
func (o *Object) specField(field string) any {
	if o.spec == nil {
		o.spec, _ = mapOf(o.fields["spec"])
	}
	v := o.spec[field]
	o.recordField("spec", field, v)
	return v
}

// statusField returns a field of the status, nil if it is missing. Explanations do not show missing
// fields.
func (o *Object) statusField(field string) any {
	v := o.status[field]
	if v != nil {
		o.recordField("status", field, v)
	}
	return v
}

// wantedReplicas returns spec.replicas, 1 if it is missing.
func (o *Object) wantedReplicas() int64 {
	if n, ok := integer(o.specField("replicas")); ok {
		return n
	}
	return 1
}

// count returns a number of the status, 0 if it is missing.
func (o *Object) count(field string) int64 {
	v := o.status[field]
	o.recordField("status", field, v)
	n, _ := integer(v)
	return n
}

// created returns metadata.creationTimestamp, or the zero time without one.
func (o *Object) created() time.Time {
	s := o.Text("metadata", "creationTimestamp")
	if s == "" {
		return time.Time{} // time.Parse would allocate an error
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at
}

// integer reads a number of any type, or a string of digits.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case nil:
		return 0, false
	case int64:
		return n, true
	case string:
		if strings.Trim(n, "+-0123456789") != "" {
			return 0, false // strconv.ParseInt would allocate an error
		}
		i, err := strconv.ParseInt(n, 10, 64)
		return i, err == nil
	}
	return object.ToInt64(v)
}

// mapOf is [object.ToMap] in a form that the compiler can inline for the usual type.
func mapOf(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	return object.ToMap(v)
}
