package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An edit changes one field of an object.
type edit struct {
	path  []any // names of fields and indices of lists
	value any   // the new content: a value, missing or twice
}

// What an edit makes of a field, in addition to a value.
type (
	missing struct{}
	twice   struct{} // a list has its first element once more, at its end
)

func (e edit) String() string {
	at := ""
	for _, step := range e.path {
		if i, is := step.(int); is {
			at += fmt.Sprintf("[%d]", i)
		} else {
			at += fmt.Sprint(".", step)
		}
	}
	switch v := e.value.(type) {
	case missing:
		return "no " + at
	case twice:
		return "twice " + at
	case string:
		return fmt.Sprintf("%s is %.20q", at, v)
	}
	return fmt.Sprintf("%s is %v", at, e.value)
}

// of returns an object with the edit.
func (e edit) of(obj *unstructured.Unstructured) *unstructured.Unstructured {
	next := obj.DeepCopy()
	next.Object = edited(next.Object, e.path, e.value).(map[string]any)
	return next
}

func edited(v any, path []any, value any) any {
	if len(path) == 0 {
		if _, is := value.(twice); is {
			l, _ := v.([]any)
			return slices.Concat(l, l[:min(1, len(l))])
		}
		return value
	}
	switch step := path[0].(type) {
	case int:
		l, _ := v.([]any)
		if step < len(l) { // it has no such element if it is stored differently
			l[step] = edited(l[step], path[1:], value)
		}
		return v
	default:
		m, is := v.(map[string]any)
		if !is {
			m = map[string]any{}
		}
		name := step.(string)
		if m[name] = edited(m[name], path[1:], value); m[name] == (missing{}) {
			delete(m, name)
		}
		return m
	}
}

// editsOf returns edits of all fields of an object except its metadata. An edit removes a field,
// gives it another value, as of returns, or repeats an element of a list.
func editsOf(obj map[string]any, of func(any) []any) (all []edit) {
	var walk func(v any, path []any)
	walk = func(v any, path []any) {
		at := func(step any) []any { return append(slices.Clip(path), step) }
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if len(path) == 0 && (name == "apiVersion" || name == "kind" || name == "metadata") {
					continue
				}
				all = append(all, edit{at(name), missing{}})
				walk(v[name], at(name))
			}
		case []any:
			if len(v) > 0 {
				all = append(all, edit{path, twice{}})
			}
			for i := range v {
				walk(v[i], at(i))
			}
		}
		for _, other := range of(v) {
			all = append(all, edit{path, other})
		}
	}
	walk(obj, nil)
	return all
}

// wrongValues are values that are often wrong.
func wrongValues(v any) []any {
	switch v.(type) {
	case string:
		return []any{"", "Wrong Value!", "-1", strings.Repeat("x", 300)}
	case int64:
		return []any{int64(-1), int64(0), int64(1 << 20)}
	}
	return nil
}

// otherValues are values that are often right as well.
func otherValues(v any) []any {
	switch v := v.(type) {
	case string:
		return []any{"other", "", "-1"}
	case int64:
		return []any{v + 1, int64(-1)}
	case bool:
		return []any{!v}
	}
	return nil
}

// wrongNames are edits that give an object a name that it cannot have.
func wrongNames() (all []edit) {
	for _, name := range []string{"Wrong Value!", "-1", "a/b", "%", "..", strings.Repeat("x", 300)} {
		all = append(all, edit{[]any{"metadata", "name"}, name})
	}
	return all
}

// wrongMetadata are edits of the metadata of any object that a server refuses.
func wrongMetadata() (all []edit) {
	owner := func(name string, value any) map[string]any {
		o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
		o[name] = value
		return o
	}
	add := func(value any, path ...any) { all = append(all, edit{append([]any{"metadata"}, path...), value}) }
	for _, key := range []string{"", "Wrong Key!", "a/b/c", "/a", "a/", "-1", strings.Repeat("x", 64)} {
		add(map[string]any{key: "v"}, "labels")
		add(map[string]any{key: "v"}, "annotations")
	}
	for _, value := range []string{"Wrong Value!", "-1", strings.Repeat("x", 64)} {
		add(map[string]any{"key": value}, "labels")
	}
	for _, finalizer := range []string{"", "Wrong Value!", "unqualified", "a/b/c"} {
		add([]any{finalizer}, "finalizers")
	}
	add([]any{"orphan", "foregroundDeletion"}, "finalizers")
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		add([]any{owner(name, "")}, "ownerReferences")
	}
	add([]any{owner("apiVersion", "a/b/c")}, "ownerReferences")
	add([]any{owner("kind", "Event")}, "ownerReferences")
	other := owner("controller", true)
	other["name"] = "b"
	add([]any{owner("controller", true), other}, "ownerReferences")
	add(int64(-1), "generation")
	return all
}
