// Package fields reads fields of objects. A field that is missing, or that has the wrong type, has
// its zero value or a default. Use package internal/object where the difference matters.
package fields

import (
	"cmp"
	"maps"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Value returns the value at a path, else nil. It must not be changed.
func Value(m map[string]any, path ...string) any {
	v, _ := object.Get(m, path...)
	return v
}

// String returns the text at a path, else "".
func String(m map[string]any, path ...string) string {
	s, _ := object.String(m, path...)
	return s
}

// Int64 returns the integer at a path, else the default.
func Int64(m map[string]any, byDefault int64, path ...string) int64 {
	if n, ok := object.Int64(m, path...); ok {
		return n
	}
	return byDefault
}

// Bool returns the bool at a path, else false.
func Bool(m map[string]any, path ...string) bool {
	b, _ := object.Bool(m, path...)
	return b
}

// Map returns the map at a path, else nil. It must not be changed.
func Map(m map[string]any, path ...string) map[string]any {
	v, _ := object.Map(m, path...)
	return v
}

// CloneMap returns a copy of the map at a path, which the caller may change. The copy is empty
// without a map.
func CloneMap(m map[string]any, path ...string) map[string]any {
	if v := maps.Clone(Map(m, path...)); v != nil {
		return v
	}
	return map[string]any{}
}

// Slice returns the list at a path, else nil. It must not be changed.
func Slice(m map[string]any, path ...string) []any {
	v, _ := object.Slice(m, path...)
	return v
}

// Maps returns the elements of the list at a path that are maps. They must not be changed.
func Maps(m map[string]any, path ...string) []map[string]any {
	var found []map[string]any
	for _, v := range Slice(m, path...) {
		if element, ok := object.ToMap(v); ok {
			found = append(found, element)
		}
	}
	return found
}

// Time returns the time at a path. It returns false without a time.
func Time(m map[string]any, path ...string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, String(m, path...))
	return t, err == nil
}

// FormatTime returns a time in the format of objects: in UTC, without fractions of seconds.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Seconds returns a duration that objects have as a number.
func Seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// IsTerminating reports whether an object has a deletionTimestamp.
func IsTerminating(obj *unstructured.Unstructured) bool {
	return String(obj.Object, "metadata", "deletionTimestamp") != ""
}

// Label returns a label of an object, or "".
func Label(obj *unstructured.Unstructured, key string) string {
	return String(obj.Object, "metadata", "labels", key)
}

// Annotation returns an annotation of an object, or "".
func Annotation(obj *unstructured.Unstructured, key string) string {
	return String(obj.Object, "metadata", "annotations", key)
}

// IntOrPercent returns a number, or a percentage of a total, rounded up or down, as
// intstr.GetScaledValueFromIntOrPercent does. The error says that v is neither.
func IntOrPercent(v any, total int64, roundUp bool) (int64, error) {
	part := intstr.IntOrString{}
	switch n, isNumber := object.ToInt64(v); {
	case isNumber:
		part = intstr.FromInt32(int32(min(max(n, math.MinInt32), math.MaxInt32)))
	default:
		text, _ := v.(string)
		part = intstr.FromString(text)
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&part, int(total), roundUp)
	return int64(scaled), err
}

// ByAge orders objects from the oldest to the newest, and objects of the same second by name.
func ByAge(a, b *unstructured.Unstructured) int {
	return cmp.Or(
		cmp.Compare(String(a.Object, "metadata", "creationTimestamp"), String(b.Object, "metadata", "creationTimestamp")),
		cmp.Compare(a.GetName(), b.GetName()),
	)
}
