package patch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
)

var (
	errMixed   = errors.New("the elements are not all of one type, or are lists")
	errNoList  = errors.New("must be a list")
	errNoKey   = errors.New("lists of objects cannot merge without a merge key")
	errScalars = errors.New("deletions are for lists of scalars only")
	errMany    = fmt.Errorf("a strategic merge patch compares at most %d elements of lists: replace the list by a JSON patch", mostElements)
	errOrder   = errors.New("the elements are not in the order that " + prefixOrder + " gives")
)

// mostElements bounds the elements of lists that are merged, which takes the square of their number.
// The API server has no such limit.
const mostElements = 10_000

// list merges two lists: of maps by the key, of scalars as sets. It also reports whether the result is
// another one than the old.
func (s Schema) list(old, patch []any, key string) (merged []any, changed bool, err error) {
	if len(old) == 0 && len(patch) == 0 {
		return old, false, nil
	}
	if len(old)*len(patch) > mostElements*mostElements {
		return nil, false, errMany
	}
	var few [8]int
	if at, ok := places(few[:0], old, patch, key); ok {
		return s.inPlace(old, patch, key, at)
	}
	merged, err = s.rearranged(old, patch, key)
	return merged, !equalLists(old, merged), err
}

func (s Schema) rearranged(old, patch []any, key string) ([]any, error) {
	if len(old)+len(patch) > mostElements {
		return nil, errMany
	}
	maps, err := ofMaps(old, patch)
	if err != nil {
		return nil, err
	}
	if !maps {
		return arrange(unique(slices.Concat(old, patch)), patch, old, "")
	}
	if key == "" {
		return nil, errNoKey
	}
	old, patch, err = special(old, patch, key)
	if err != nil {
		return nil, err
	}
	merged, err := s.byKey(old, patch, key)
	if err != nil {
		return nil, err
	}
	return arrange(merged, patch, old, key)
}

// ofMaps reports whether the lists hold maps; they must hold one type.
func ofMaps(lists ...[]any) (bool, error) {
	var first reflect.Type
	for _, l := range lists {
		for _, v := range l {
			t := reflect.TypeOf(v)
			if first == nil {
				first = t
			}
			if t == nil || t != first || t.Kind() == reflect.Slice {
				return false, errMixed
			}
		}
	}
	return first != nil && first.Kind() == reflect.Map, nil
}

// unique drops the repetitions in a list of scalars.
func unique(l []any) []any {
	seen := make(map[any]bool, len(l))
	return slices.DeleteFunc(l, func(v any) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}

// places finds the elements of the patch in the old list, if that is all there is to merging them:
// both lists have plain maps with a string for the key, and the list has the items of the patch,
// once and in the same order. It appends to at.
func places(at []int, old, patch []any, key string) ([]int, bool) {
	if key == "" {
		return nil, false
	}
	for i, v := range old {
		name, ok := nameOf(v, key)
		switch {
		case !ok:
			return nil, false
		case len(at) < len(patch) && isNamed(patch[len(at)], key, name):
			at = append(at, i)
		case slices.ContainsFunc(patch, func(v any) bool { return isNamed(v, key, name) }):
			return nil, false
		}
	}
	return at, len(at) == len(patch) && !slices.ContainsFunc(patch, marked)
}

func nameOf(v any, key string) (name string, ok bool) {
	m, _ := v.(map[string]any)
	name, ok = m[key].(string)
	return name, ok
}

func isNamed(v any, key, name string) bool {
	other, ok := nameOf(v, key)
	return ok && other == name
}

// inPlace merges the elements of the patch into those at the places.
func (s Schema) inPlace(old, patch []any, key string, at []int) (out []any, changed bool, err error) {
	out = old
	for i, place := range at {
		before, _ := old[place].(map[string]any)
		body, _ := patch[i].(map[string]any)
		merged, differs, err := s.object(before, body)
		if err != nil {
			return nil, false, within(fmt.Sprintf("[%s=%v]", key, body[key]), err)
		}
		if !differs {
			continue
		}
		if !changed {
			out, changed = slices.Clone(old), true
		}
		out[place] = merged
	}
	return out, changed, nil
}

// special applies the elements with $patch and returns the lists that remain to merge.
func special(old, patch []any, key string) ([]any, []any, error) {
	if !slices.ContainsFunc(patch, marked) {
		return old, patch, nil
	}
	rest, replace := []any{}, false
	for _, v := range patch {
		m := v.(map[string]any)
		switch directive := m[markPatch]; {
		case !marked(v):
			rest = append(rest, v)
		case directive == "replace":
			replace = true
		case directive == "delete":
			id, ok := m[key]
			if !ok {
				return nil, nil, noKey(key)
			}
			old = slices.DeleteFunc(slices.Clone(old), func(e any) bool { return has(e, key, id) })
		default:
			return nil, nil, fmt.Errorf("unknown directive %v", directive)
		}
	}
	if replace {
		return rest, nil, nil
	}
	return old, rest, nil
}

// byKey merges each map of the patch into the first of the same key, or appends it.
func (s Schema) byKey(old, patch []any, key string) ([]any, error) {
	out := slices.Clip(slices.Clone(old))
	for _, v := range patch {
		m := v.(map[string]any)
		id, ok := m[key]
		if !ok {
			return nil, noKey(key)
		}
		i := find(out, key, id)
		if i < 0 {
			out = append(out, withoutDirectives.of(m))
			continue
		}
		merged, _, err := s.object(out[i].(map[string]any), m)
		if err != nil {
			return nil, within(fmt.Sprintf("[%s=%v]", key, id), err)
		}
		out[i] = merged
	}
	return out, nil
}

func noKey(key string) error { return fmt.Errorf("an element has no merge key %s", key) }

func has(v any, key string, id any) bool {
	found, ok := v.(map[string]any)[key]
	return ok && equalScalars(found, id)
}

// find returns the index of the element with that key, or of that scalar if key is
// "", else -1.
func find(l []any, key string, id any) int {
	return slices.IndexFunc(l, func(v any) bool {
		if key == "" {
			return equalScalars(v, id)
		}
		return has(v, key, id)
	})
}

func identity(v any, key string) any {
	if m, ok := v.(map[string]any); ok {
		return m[key]
	}
	return v
}

// ordered merges the list in the named field and puts it into the given order.
func (s Schema) ordered(out *draft, name string, order any, patch map[string]any) error {
	want, ok := order.([]any)
	old, onOld, err := listIn(out.m, name)
	mine, onMine, err2 := listIn(patch, name)
	if !ok || err != nil || err2 != nil {
		return errNoList
	}
	if !onOld && !onMine {
		return nil
	}
	if len(old)+len(mine)+len(want) > mostElements {
		return errMany
	}
	key, err := s.inOrder(name, want, mine)
	if err != nil {
		return err
	}
	merged := any(old)
	if onMine {
		if merged, _, err = types[s.typ][name].value(out.m[name], patch[name]); err != nil {
			return err
		}
	}
	arranged, err := arrange(merged.([]any), want, old, key)
	if err == nil {
		out.set(name, arranged)
	}
	return err
}

func listIn(m map[string]any, name string) ([]any, bool, error) {
	v, ok := m[name]
	if !ok {
		return nil, false, nil
	}
	l, isList := v.([]any)
	if !isList {
		return nil, true, errNoList
	}
	return l, true, nil
}

// inOrder checks that the elements of the patch follow the order, and returns the
// merge key.
func (s Schema) inOrder(name string, order, patch []any) (string, error) {
	rule, _ := s.field(name)
	if err := keyed(rule.key, order, patch); err != nil {
		return "", err
	}
	if len(order) == 0 {
		return rule.key, nil
	}
	next := 0
	for _, v := range patch {
		if marked(v) {
			continue
		}
		at := find(order[next:], rule.key, identity(v, rule.key))
		if at < 0 {
			return "", errOrder
		}
		next += at + 1
	}
	return rule.key, nil
}

// keyed checks that every element is a map with the key or, if the key is "", that no element is a
// map or list. Elements with $patch do not count.
func keyed(key string, lists ...[]any) error {
	for _, v := range slices.Concat(lists...) {
		m, isMap := v.(map[string]any)
		_, isList := v.([]any)
		switch {
		case marked(v):
		case key == "" && (isMap || isList):
			return errNoKey
		case key != "" && m[key] == nil:
			return noKey(key)
		}
	}
	return nil
}

// arrange sorts a merged list: the elements named in order come in that order, the
// others keep theirs and stand, as far as that allows, where they stood in old.
func arrange(merged, order, old []any, key string) ([]any, error) {
	if err := keyed(key, merged, order); err != nil {
		return nil, err
	}
	var named, others []any
	for _, v := range merged {
		if find(order, key, identity(v, key)) >= 0 {
			named = append(named, v)
		} else {
			others = append(others, v)
		}
	}
	sortBy(named, order, key)
	sortBy(others, old, key)
	return interleave(others, named, old, key), nil
}

func sortBy(l, order []any, key string) {
	if len(l) < 2 {
		return
	}
	sort.SliceStable(l, func(i, j int) bool {
		return find(order, key, identity(l[i], key)) < find(order, key, identity(l[j], key))
	})
}

// interleave puts each of others before the first of named that stood after it in old.
func interleave(others, named, old []any, key string) []any {
	out := make([]any, 0, len(others)+len(named))
	for _, n := range named {
		place := find(old, key, identity(n, key))
		for len(others) > 0 && stoodBefore(place, others[0], old, key) {
			out = append(out, others[0])
			others = others[1:]
		}
		out = append(out, n)
	}
	return append(out, others...)
}

func stoodBefore(place int, v any, old []any, key string) bool {
	i := find(old, key, identity(v, key))
	return i >= 0 && i < place
}

// deleteFrom removes scalars from the list in a field; null removes the field.
func deleteFrom(out *draft, name string, v any) error {
	if v == nil {
		out.remove(name)
		return nil
	}
	doomed, ok := v.([]any)
	old, isList := out.m[name].([]any)
	if !ok || !isList || len(old) == 0 && len(doomed) == 0 {
		return nil
	}
	if len(old)*len(doomed) > mostElements*mostElements {
		return errMany
	}
	maps, err := ofMaps(old, doomed)
	if err != nil {
		return err
	}
	if maps {
		return errScalars
	}
	out.set(name, slices.DeleteFunc(slices.Clone(old), func(e any) bool { return find(doomed, "", e) >= 0 }))
	return nil
}
