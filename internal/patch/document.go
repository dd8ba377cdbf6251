package patch

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A document is a value while a JSON patch is applied to it. The first change to a map or list copies
// it; later changes are made in that copy, so that many operations on a large map or list cost no more
// than the elements that they touch or move.
type document struct {
	owned  map[any]bool // the pointers to maps and to arrays of lists that only this document has
	toCopy int          // the bytes that copy operations may still copy
	toMove int          // the list elements that operations may still move
}

// An edition changes a map or list, or a copy of it, and returns the result.
type edition func(container any, key string) (any, error)

// edit walks to the parent of the value that the path names, edits the parent, and rebuilds the
// values above it. All other values are shared.
func (d *document) edit(v any, path string, e edition) (any, error) {
	_, rest, ok := strings.Cut(path, "/")
	if !ok {
		return nil, errMissing
	}
	token, _, more := strings.Cut(rest, "/")
	key := unescape(token)
	if !more {
		return e(v, key)
	}
	child, err := member(v, key)
	if err != nil {
		return nil, err
	}
	child, err = d.edit(child, rest, e)
	if err != nil {
		return nil, err
	}
	return d.replace(child)(v, key)
}

func (d *document) add(value any) edition {
	return func(container any, key string) (any, error) {
		l, ok := container.([]any)
		if !ok {
			return d.replace(value)(container, key)
		}
		i := len(l)
		if key != "-" {
			var err error
			if i, err = index(key, len(l)+1); err != nil {
				return nil, err
			}
		}
		if !spend(&d.toMove, len(l)-i) {
			return nil, errTooMoved
		}
		l = slices.Insert(d.ownList(l), i, value)
		d.own(l)
		return l, nil
	}
}

func (d *document) replace(value any) edition {
	return func(container any, key string) (any, error) {
		switch c := container.(type) {
		case map[string]any:
			if old, ok := c[key]; ok && Equal(old, value) {
				return c, nil
			}
			c = d.ownMap(c)
			c[key] = value
			return c, nil
		case []any:
			i, err := index(key, len(c))
			if err != nil {
				return nil, err
			}
			if Equal(c[i], value) {
				return c, nil
			}
			c = d.ownList(c)
			c[i] = value
			return c, nil
		}
		return nil, errMissing
	}
}

func (d *document) remove(container any, key string) (any, error) {
	switch c := container.(type) {
	case map[string]any:
		if _, ok := c[key]; !ok {
			return nil, errMissing
		}
		c = d.ownMap(c)
		delete(c, key)
		return c, nil
	case []any:
		i, err := index(key, len(c))
		if err != nil {
			return nil, err
		}
		if !spend(&d.toMove, len(c)-i) {
			return nil, errTooMoved
		}
		return slices.Delete(d.ownList(c), i, i+1), nil
	}
	return nil, errMissing
}

// own marks a map or list as used only by this document.
func (d *document) own(container any) {
	if d.owned == nil {
		d.owned = map[any]bool{}
	}
	d.owned[reflect.ValueOf(container).UnsafePointer()] = true
}

func (d *document) owns(container any) bool {
	return d.owned[reflect.ValueOf(container).UnsafePointer()]
}

// ownMap returns a map, or a copy of it, that can be changed.
func (d *document) ownMap(m map[string]any) map[string]any {
	switch {
	case m == nil:
		m = map[string]any{}
	case d.owns(m):
		return m
	default:
		m = maps.Clone(m)
	}
	d.own(m)
	return m
}

// ownList is ownMap for a list. The array of the result has no other user.
func (d *document) ownList(l []any) []any {
	if d.owns(l) {
		return l
	}
	l = slices.Clone(l)
	d.own(l)
	return l
}

// copyOf returns a copy that shares no map or list, and stops when all bytes that may be copied are used
// up. A value counts about as many bytes as it has in JSON.
func (d *document) copyOf(v any) any {
	if !spend(&d.toCopy, 8) {
		return nil
	}
	switch v := v.(type) {
	case string:
		spend(&d.toCopy, len(v))
	case []any:
		out := []any{}
		for i := 0; i < len(v) && d.toCopy >= 0; i++ {
			out = append(out, d.copyOf(v[i]))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if !spend(&d.toCopy, len(k)) {
				break
			}
			out[k] = d.copyOf(item)
		}
		return out
	}
	return v
}

// spend subtracts n from a budget, and reports whether the budget was large enough.
func spend(left *int, n int) bool {
	*left -= n
	return *left >= 0
}
