package object

import (
	"maps"
	"reflect"
)

// DeepEqual reports whether two JSON values are equal as data: numbers by value (1, 1.0 and
// json.Number("1") are equal), lists by order, maps by key. A missing key is not null, and an empty
// list or map is not null; a nil one is empty.
func DeepEqual(a, b any) bool {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return ok && x == y
	}
	if x := Number(a); x != nil {
		return equalNumbers(x, Number(b))
	}
	if x, ok := ToMap(a); ok {
		y, ok := ToMap(b)
		return ok && equalMaps(x, y)
	}
	if x, ok := ToSlice(a); ok {
		y, ok := ToSlice(b)
		return ok && equalSlices(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// equalNumbers compares results of Number. An int64 and a float64 are equal only if the float64 is
// exactly this integer.
func equalNumbers(a, b any) bool {
	if a == b {
		return true
	}
	if b == nil {
		return false
	}
	i, ok := ToInt64(a)
	j, also := ToInt64(b)
	return ok && also && i == j
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true // versions of an object share most of their parts
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok || !DeepEqual(v, w) {
			return false
		}
	}
	return true
}

func equalSlices(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !DeepEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}

// DeepCopy returns a copy of a JSON value that shares no map and no list with it. Lists and maps of
// other Go types become []any and map[string]any; scalars keep their type.
func DeepCopy(v any) any {
	if m, ok := ToMap(v); ok {
		return CopyMap(m)
	}
	s, ok := ToSlice(v)
	if !ok || s == nil {
		return v
	}
	out := make([]any, len(s))
	for i, e := range s {
		out[i] = DeepCopy(e)
	}
	return out
}

// CopyMap is DeepCopy of an object; nil stays nil.
func CopyMap(m map[string]any) map[string]any {
	out := maps.Clone(m) // without hashing each key again
	for k, v := range m {
		switch v.(type) {
		case nil, string, bool, int64, float64:
		default:
			out[k] = DeepCopy(v)
		}
	}
	return out
}
