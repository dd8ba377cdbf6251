// Package patch applies the three kinds of Kubernetes patch to decoded JSON:
// JSON patch, merge patch and strategic merge patch.
//
// # Terminology
//
// A value is decoded JSON: map[string]any, []any, string, bool, nil, int64 or
// float64. Numbers of both types compare by value.
//
// # Usage
//
//	patched := patch.Merge(object, body)
//	if patch.Equal(object, patched) {
//		// nothing to send
//	}
//
// Inputs are never modified. Results share unchanged parts with the inputs, so treat both as
// read-only afterwards; in return [Equal] costs nothing on shared parts, and a patch that changes
// nothing returns its target.
//
// # Concurrency
//
// The package has no state. All functions are safe for concurrent use.
//
// # Compatibility
//
// Results are the same as the API server's before it decodes them into Go types: evanphx/json-patch
// v4 for JSON and merge patches, apimachinery's strategicpatch. internal/dev/bench/patch compares
// them on random documents. These differences are intended:
//
//	reference                                  here
//	strategic: null and directives inside a    left out, as the decoding into Go
//	value that is new stay in the result       types that follows there does
//	strategic: a field unknown to the type     merged by the rules for no schema:
//	is an error                                maps merge, lists are replaced
//	strategic: a deletion and an order for     order, then deletions, then the
//	one list apply in random order             rest
//	strategic: elements beside one that is     keep the order of the target
//	deleted may move under $setElementOrder
//	strategic: an order for an empty list, or  accepted
//	for a list that is replaced, may fail
//	JSON: "test" compares text, and a null     compares values: 1 is 1.0, null is
//	written before is another than one read    null
//	JSON: nulls in lists may panic             do not
package patch

import (
	"fmt"
	"maps"
	"reflect"
)

// Error tells where a patch does not fit the value it is applied to.
type Error struct {
	Op   int    // index of the JSON patch operation; -1 for a strategic merge patch
	Path string // JSON pointer of the operation, or field path such as spec.containers
	Err  error
}

func (e *Error) Error() string {
	if e.Op < 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("operation %d: %q: %v", e.Op, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Equal reports whether two values are the same JSON. Parts shared by both are
// not walked.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	default:
		return equalScalars(a, b)
	}
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if same(a, b) {
		return true
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok || !Equal(v, w) {
			return false
		}
	}
	return true
}

// same reports whether two maps are one.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalScalars is false for maps and lists, which Go cannot compare with ==.
func equalScalars(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return a == float64(b)
		case float64:
			return a == b
		}
	}
	return false
}

// draft is a map that is copied by the first change to it.
type draft struct {
	m     map[string]any
	owned bool
}

func (d *draft) own() {
	switch {
	case d.owned:
	case d.m == nil:
		d.m = map[string]any{}
	default:
		d.m = maps.Clone(d.m)
	}
	d.owned = true
}

func (d *draft) set(key string, v any) {
	if old, ok := d.m[key]; ok && Equal(old, v) {
		return
	}
	d.own()
	d.m[key] = v
}

func (d *draft) remove(key string) {
	if _, ok := d.m[key]; !ok {
		return
	}
	d.own()
	delete(d.m, key)
}
