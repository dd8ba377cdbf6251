// Package object reads fields of Kubernetes objects in the form of map[string]any. It accepts the
// numbers and lists of any decoder. A read of a missing field, or of a field of another type,
// reports this; nothing panics.
//
// # Determinism
//
// Every function is pure. Objects are read only and never retained.
//
// # Compatibility
//
// The helpers of apimachinery's unstructured know only int64 and float64, copy their results, and
// fail on []string. The functions here accept every Go number, json.Number, []string and
// map[string]string, and return the value itself.
package object

import (
	"encoding/json"
	"math"
	"slices"
)

// Watch, unless it is nil, is called before each read, with the path below the map. Only tests set it,
// before anything reads. It must be safe for concurrent use.
var Watch func(m map[string]any, path []string)

// Get returns the value at the path. It returns false if a key on the way is missing, or if a value
// on the way is not a map. A key whose value is null exists.
func Get(obj map[string]any, path ...string) (any, bool) {
	if Watch != nil {
		Watch(obj, slices.Clone(path)) // a copy, so that the path of the caller need not be allocated
	}
	var v any = obj
	for _, key := range path {
		var ok bool
		if v, ok = field(v, key); !ok {
			return nil, false
		}
	}
	return v, true
}

func field(v any, key string) (any, bool) {
	switch m := v.(type) {
	case map[string]any:
		w, ok := m[key]
		return w, ok
	case map[string]string:
		w, ok := m[key]
		return w, ok
	}
	return nil, false
}

// String returns the string at the path.
func String(obj map[string]any, path ...string) (string, bool) {
	v, _ := Get(obj, path...)
	s, ok := v.(string)
	return s, ok
}

// Bool returns the bool at the path.
func Bool(obj map[string]any, path ...string) (value, ok bool) {
	v, _ := Get(obj, path...)
	value, ok = v.(bool)
	return value, ok
}

// Int64 returns the number at the path if it is an integer that an int64 holds, in whatever form:
// 3, 3.0, json.Number("3").
func Int64(obj map[string]any, path ...string) (int64, bool) {
	v, _ := Get(obj, path...)
	return ToInt64(v)
}

// Map returns the map at the path, not a copy; a map[string]string is converted.
func Map(obj map[string]any, path ...string) (map[string]any, bool) {
	v, _ := Get(obj, path...)
	return ToMap(v)
}

// Slice returns the list at the path, not a copy; a list of another Go type is converted.
func Slice(obj map[string]any, path ...string) ([]any, bool) {
	v, _ := Get(obj, path...)
	return toSlice(v)
}

// Strings returns the list of strings at the path, or false if an element is not a string.
func Strings(obj map[string]any, path ...string) ([]string, bool) {
	v, _ := Get(obj, path...)
	if list, ok := v.([]string); ok {
		return list, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, false
		}
	}
	return out, true
}

// ToInt64 returns v as an int64 if it is a number whose value an int64 holds exactly.
func ToInt64(v any) (int64, bool) {
	switch n := number(v).(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64 {
			return int64(n), true
		}
	}
	return 0, false
}

// ToMap returns v if it is a map with string keys. A nil map is a map.
func ToMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case map[string]string:
		out := make(map[string]any, len(m))
		for k, e := range m {
			out[k] = e
		}
		return out, true
	}
	return nil, false
}

// toSlice returns v if it is a list.
func toSlice(v any) ([]any, bool) {
	switch s := v.(type) {
	case []any:
		return s, true
	case []string:
		return anys(s), true
	case []map[string]any:
		return anys(s), true
	}
	return nil, false
}

func anys[T any](s []T) []any {
	out := make([]any, len(s))
	for i, e := range s {
		out[i] = e
	}
	return out
}

// number returns the number v as an int64 if it is an integer that an int64 can hold, else as a
// float64. It returns nil if v is not a number. A float64 stays a float64.
func number(v any) any {
	switch n := v.(type) {
	case int64, float64:
		return v
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	case int8:
		return int64(n)
	case float32:
		return float64(n)
	case json.Number:
		return parse(n)
	}
	return unsigned(v)
}

func unsigned(v any) any {
	var u uint64
	switch n := v.(type) {
	case uint:
		u = uint64(n)
	case uint64:
		u = n
	case uint32:
		u = uint64(n)
	case uint16:
		u = uint64(n)
	case uint8:
		u = uint64(n)
	default:
		return nil
	}
	if u > math.MaxInt64 {
		return float64(u)
	}
	return int64(u)
}

func parse(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return nil
}
