package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// A path names one field in the notation of FieldsV1, its parts joined by separators:
// f:name for a member, k:{"name":"a"} for the element of a list by its merge key, with
// "." after it for the element itself, and v:"a" for an element of a set.
type path string

const separator = "\x00"

func (p path) child(part string) path {
	if p == "" {
		return path(part)
	}
	return p + separator + path(part)
}

func (p path) parts() []string { return strings.Split(string(p), separator) }

// leaves maps the path of every leaf of an object to its value. Lists without a merge
// key are leaves.
type leaves map[path]any

// leavesOf leaves out the fields that identify an object and those that only the server sets.
func leavesOf(s patch.Schema, obj map[string]any) leaves {
	l := leaves{}
	for name, v := range obj {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			l.metadata(s, v)
		default:
			l.field(s, "", name, v)
		}
	}
	return l
}

func (l leaves) metadata(s patch.Schema, v any) {
	metadata, _ := object.ToMap(v)
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if v, ok := metadata[name]; ok {
			l.field(s.Field("metadata"), "f:metadata", name, v)
		}
	}
}

func (l leaves) field(s patch.Schema, at path, name string, v any) {
	at = at.child("f:" + name)
	switch v := v.(type) {
	case map[string]any:
		l.object(s.Field(name), at, v)
	case []any:
		key, merges := s.MergeKey(name)
		if !merges || len(v) == 0 {
			l[at] = v
			return
		}
		l.list(s.Field(name), at, v, key)
	default:
		l[at] = v
	}
}

func (l leaves) object(s patch.Schema, at path, m map[string]any) {
	if len(m) == 0 {
		l[at] = m
	}
	for name, v := range m {
		l.field(s, at, name, v)
	}
}

func (l leaves) list(s patch.Schema, at path, list []any, key string) {
	for _, v := range list {
		m, isMap := v.(map[string]any)
		if !isMap {
			l[at.child("v:"+encode(v))] = v
			continue
		}
		element := at.child("k:" + encode(map[string]any{key: m[key]}))
		l[element.child(".")] = true
		l.object(s, element, m)
	}
}

// encode returns the same text for equal values.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "null" // no JSON value comes here
	}
	return string(data)
}

// without returns a copy of a value without the field that the path names, and without the maps and
// lists that are empty then. It is false if nothing remains.
func without(v any, parts []string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return withoutMember(v, parts)
	case []any:
		return withoutElement(v, parts)
	}
	return v, true
}

func withoutMember(m map[string]any, parts []string) (any, bool) {
	name := strings.TrimPrefix(parts[0], "f:")
	old, ok := m[name]
	if !ok {
		return m, true
	}
	m = maps.Clone(m)
	delete(m, name)
	if len(parts) > 1 {
		if rest, some := without(old, parts[1:]); some {
			m[name] = rest
		}
	}
	return m, len(m) > 0
}

func withoutElement(list []any, parts []string) (any, bool) {
	i := slices.IndexFunc(list, func(v any) bool { return isElement(v, parts[0]) })
	if i < 0 {
		return list, true
	}
	list = slices.Clone(list)
	if len(parts) == 1 || parts[1] == "." {
		list = slices.Delete(list, i, i+1)
		return list, len(list) > 0
	}
	if !identifies(parts[0], parts[1]) {
		list[i], _ = without(list[i], parts[1:])
	}
	return list, true
}

// identifies reports whether a f: part names the merge key of an element, which stays
// as long as the element does.
func identifies(element, member string) bool {
	return strings.HasPrefix(element, "k:{"+encode(strings.TrimPrefix(member, "f:"))+":")
}

// isElement reports whether a k: or v: part of a path names this element.
func isElement(v any, part string) bool {
	if text, ok := strings.CutPrefix(part, "v:"); ok {
		return encode(v) == text
	}
	var key map[string]any
	m, _ := object.ToMap(v)
	if json.Unmarshal([]byte(strings.TrimPrefix(part, "k:")), &key) != nil || m == nil {
		return false
	}
	for name, id := range key {
		if !patch.Equal(m[name], id) {
			return false
		}
	}
	return true
}

// fieldsV1 turns paths into the tree that managedFields shows.
func fieldsV1(paths map[path]bool) map[string]any {
	tree := map[string]any{}
	for p := range paths {
		at := tree
		for _, part := range p.parts() {
			next, ok := at[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
	}
	return tree
}

// pathsOf is the inverse of fieldsV1.
func pathsOf(at path, tree map[string]any, into map[path]bool) {
	if len(tree) == 0 && at != "" {
		into[at] = true
	}
	for part, v := range tree {
		sub, _ := object.ToMap(v)
		pathsOf(at.child(part), sub, into)
	}
}
