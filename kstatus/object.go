package kstatus

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An Object is a rule's view of an object, tolerant of what decoders do: every integer or float type, json.Number and digit strings
// are numbers, null is absent, what has the wrong type is absent. It is read only and safe for concurrent use.
type Object struct {
	fields     map[string]any
	metadata   map[string]any
	status     map[string]any
	group      string
	kind       string
	conditions []any
	now        time.Time
	trace      *trace // nil unless someone asked for an explanation

	unreadable  string // the part that has the wrong shape for any verdict
	standard    int32  // 1 + index of the first Reconciling=True or Stalled=True
	skipped     int32  // 1 + index of the first condition that cannot be read
	waitForJobs bool
}

func newObject(fields map[string]any, now time.Time) Object {
	o := Object{fields: fields, now: now}
	o.kind, _ = fields["kind"].(string)
	version, _ := fields["apiVersion"].(string)
	if group, rest, qualified := strings.Cut(version, "/"); qualified && !strings.Contains(rest, "/") {
		o.group = group
	}
	o.metadata = o.mapping(fields, "metadata", "metadata")
	o.status = o.mapping(fields, "status", "status")
	o.conditions = o.list(o.status, "conditions", "status.conditions")
	o.standard, o.skipped = survey(o.conditions)
	return o
}

// mapping reads a map and remembers the path of something else in its place.
func (o *Object) mapping(from map[string]any, key, path string) map[string]any {
	v := from[key]
	m, ok := object.ToMap(v)
	if !ok && v != nil && o.unreadable == "" {
		o.unreadable = path
	}
	return m
}

func (o *Object) list(from map[string]any, key, path string) []any {
	v := from[key]
	s, ok := object.ToSlice(v)
	if !ok && v != nil && o.unreadable == "" {
		o.unreadable = path
	}
	return s
}

// survey finds in one pass what every verdict needs to know of the conditions: the first standard one that holds, and the first unreadable one.
func survey(conditions []any) (standard, skipped int32) {
	for i, item := range conditions {
		switch {
		case item == nil:
		case unreadable(item):
			if skipped == 0 {
				skipped = int32(i + 1)
			}
		case standard == 0 && standardTrue(item):
			standard = int32(i + 1)
		}
	}
	return standard, skipped
}

// Fields is the whole object. Rules must not change it.
func (o Object) Fields() map[string]any { return o.fields }

// Group is the API group, "" for core.
func (o Object) Group() string { return o.group }

// Kind is the kind.
func (o Object) Kind() string { return o.kind }

// Now is the time that the verdict is for. A rule that reads it says in RecheckAfter when to look again.
func (o Object) Now() time.Time { return o.now }

// Value returns what is at the path; nil if nothing is.
func (o Object) Value(path ...string) any {
	v := o.get(path)
	if o.trace != nil {
		o.trace.see(strings.Join(path, "."), v)
	}
	return v
}

// get saves a look-up for the parts that most rules read.
func (o Object) get(path []string) any {
	from := o.fields
	if len(path) > 1 {
		switch path[0] {
		case "status":
			from, path = o.status, path[1:]
		case "metadata":
			from, path = o.metadata, path[1:]
		}
	}
	v, _ := object.Get(from, path...)
	return v
}

// Int returns the integer at the path.
func (o Object) Int(path ...string) (int64, bool) { return integer(o.Value(path...)) }

// IntOr returns the integer at the path, or the fallback.
func (o Object) IntOr(fallback int64, path ...string) int64 {
	if n, ok := o.Int(path...); ok {
		return n
	}
	return fallback
}

// Text returns the string at the path, or "".
func (o Object) Text(path ...string) string {
	s, _ := o.Value(path...).(string)
	return s
}

// Bool returns the bool at the path, or false.
func (o Object) Bool(path ...string) bool {
	b, _ := o.Value(path...).(bool)
	return b
}

// Map returns the map at the path, or nil.
func (o Object) Map(path ...string) map[string]any {
	m, _ := object.ToMap(o.Value(path...))
	return m
}

// List returns the list at the path, or nil.
func (o Object) List(path ...string) []any {
	s, _ := object.ToSlice(o.Value(path...))
	return s
}

// Generations returns metadata.generation and status.observedGeneration, or false if one of them is missing.
func (o Object) Generations() (generation, observed int64, ok bool) {
	observed, seen := o.Int("status", "observedGeneration")
	if !seen {
		return 0, 0, false
	}
	generation, ok = o.Int("metadata", "generation")
	return generation, observed, ok
}

// Conditions yields the elements of status.conditions that can be read, in their order.
func (o Object) Conditions() iter.Seq[Condition] {
	return func(yield func(Condition) bool) {
		for _, item := range o.conditions {
			if c, ok := readCondition(item); ok && !yield(c) {
				return
			}
		}
	}
}

// Condition returns the first condition of a type.
func (o Object) Condition(kind string) (Condition, bool) {
	for _, item := range o.conditions {
		if c, ok := readCondition(item); ok && c.Type == kind {
			o.saw(c)
			return c, true
		}
	}
	o.saw(Condition{Type: kind})
	return Condition{}, false
}

// holding returns the first condition of a type that has a status.
func (o Object) holding(kind, status string) (Condition, bool) {
	for _, item := range o.conditions {
		if c, ok := readCondition(item); ok && c.Type == kind && c.Status == status {
			o.saw(c)
			return c, true
		}
	}
	return Condition{}, false
}

func (o Object) saw(c Condition) {
	if o.trace != nil {
		o.trace.see(InProgress.From(c).Field()+".status", c.Status)
	}
}

// integer reads a number of any type, also one in digits.
func integer(v any) (int64, bool) {
	if s, ok := v.(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	return object.ToInt64(v)
}

// count returns a number of the status, 0 if it is not there.
func (o Object) count(field string) int64 { return o.IntOr(0, "status", field) }

// created returns metadata.creationTimestamp; the zero time if there is none.
func (o Object) created() time.Time {
	at, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}
