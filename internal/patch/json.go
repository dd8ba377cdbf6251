package patch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	errMissing  = errors.New("the path does not exist")
	errTest     = errors.New("the value under test is another one")
	errIndex    = errors.New("no such list index")
	errNoObject = errors.New("the value must be an object or a list")
	errTooLarge = fmt.Errorf("the patch copies more than %d bytes", maxCopied)
)

// maxCopied bounds what all copy operations of a patch copy, about as the API server does: each may
// double the object, and the copies share memory only until someone writes them out.
const maxCopied = 3 << 20

// JSON applies the operations of a JSON patch (RFC 6902), each a map with "op",
// "path", and "from" or "value". All apply or none: the first fault is returned as
// an [Error].
//
// As in the API server: an index may count from the end (-1 is the last element; in
// "add", the place after it), "replace" creates a missing member, "copy" of a missing
// member copies null, "test" of a missing member against null holds, and whatever
// stands before the first slash of a path is skipped.
func JSON(target any, ops []any) (any, error) {
	left := maxCopied
	for i, raw := range ops {
		op, err := newOperation(raw)
		if err == nil {
			err = op.pay(target, &left)
		}
		if err == nil {
			target, err = op.apply(target)
		}
		if err != nil {
			return nil, &Error{Op: i, Path: op.path, Err: err}
		}
	}
	return target, nil
}

type operation struct {
	kind, path, from string
	value            any
}

func newOperation(raw any) (operation, error) {
	var op operation
	m, ok := raw.(map[string]any)
	if !ok {
		return op, errors.New("an operation must be an object")
	}
	for _, f := range []struct {
		name string
		into *string
		need bool
	}{
		{"path", &op.path, true},
		{"op", &op.kind, true},
		{"from", &op.from, m["op"] == "move" || m["op"] == "copy"},
	} {
		s, ok := m[f.name].(string)
		if !ok && f.need {
			return op, fmt.Errorf("%s must be a string", f.name)
		}
		*f.into = s
	}
	op.value = m["value"]
	return op, nil
}

func (op operation) apply(target any) (any, error) {
	switch op.kind {
	case "add":
		return edit(target, op.path, add(op.value))
	case "remove":
		return edit(target, op.path, remove)
	case "replace":
		return op.replace(target)
	case "move":
		return op.move(target)
	case "copy":
		return op.copy(target)
	case "test":
		return target, op.test(target)
	default:
		return nil, fmt.Errorf("unknown op %q", op.kind)
	}
}

func (op operation) replace(target any) (any, error) {
	if op.path != "" {
		return edit(target, op.path, replace(op.value))
	}
	switch op.value.(type) {
	case map[string]any, []any:
		return op.value, nil
	}
	return nil, errNoObject
}

func (op operation) move(target any) (any, error) {
	v, err := get(target, op.from)
	if err == nil {
		target, err = edit(target, op.from, remove)
	}
	if err != nil {
		return nil, fmt.Errorf("from %q: %w", op.from, err)
	}
	return edit(target, op.path, add(v))
}

// pay takes what a copy copies from what is left.
func (op operation) pay(target any, left *int) error {
	if op.kind != "copy" {
		return nil
	}
	v, err := get(target, op.from)
	if err == nil && !weigh(v, left) {
		return errTooLarge
	}
	return nil // a missing from is the business of copy
}

// weigh takes about as many bytes as v has in JSON from what is left, and stops when that is used
// up.
func weigh(v any, left *int) bool {
	*left -= 8
	switch v := v.(type) {
	case string:
		*left -= len(v)
	case []any:
		for _, item := range v {
			if !weigh(item, left) {
				return false
			}
		}
	case map[string]any:
		for k, item := range v {
			if *left -= len(k); !weigh(item, left) {
				return false
			}
		}
	}
	return *left >= 0
}

func (op operation) copy(target any) (any, error) {
	v, err := get(target, op.from)
	if err != nil {
		return nil, fmt.Errorf("from %q: %w", op.from, err)
	}
	return edit(target, op.path, add(v))
}

func (op operation) test(target any) error {
	v, err := target, error(nil)
	if op.path != "" {
		v, err = get(target, op.path)
	}
	if err == nil && !Equal(v, op.value) {
		err = errTest
	}
	return err
}

// An edition puts a changed copy in the place of a map or list.
type edition func(container any, key string) (any, error)

// edit walks to the parent of what the path names, edits it and rebuilds the way
// back up; all beside that way is shared.
func edit(v any, path string, e edition) (any, error) {
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
	child, err = edit(child, rest, e)
	if err != nil {
		return nil, err
	}
	return replace(child)(v, key)
}

func get(v any, path string) (any, error) {
	_, rest, ok := strings.Cut(path, "/")
	if !ok {
		return nil, errMissing
	}
	for ok {
		var token string
		var err error
		token, rest, ok = strings.Cut(rest, "/")
		if v, err = member(v, unescape(token)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// member is nil for a missing member of an object.
func member(v any, key string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v[key], nil
	case []any:
		i, err := index(key, len(v))
		if err != nil {
			return nil, err
		}
		return v[i], nil
	}
	return nil, errMissing
}

// index reads a list index below n; negative ones count from n.
func index(key string, n int) (int, error) {
	i, err := strconv.Atoi(key)
	if err == nil && i < 0 {
		i += n
	}
	if err != nil || i < 0 || i >= n {
		return 0, errIndex
	}
	return i, nil
}

func add(value any) edition {
	return func(container any, key string) (any, error) {
		l, ok := container.([]any)
		if !ok {
			return replace(value)(container, key)
		}
		i := len(l)
		if key != "-" {
			var err error
			if i, err = index(key, len(l)+1); err != nil {
				return nil, err
			}
		}
		return slices.Insert(slices.Clip(l), i, value), nil
	}
}

func replace(value any) edition {
	return func(container any, key string) (any, error) {
		switch c := container.(type) {
		case map[string]any:
			out := draft{m: c}
			out.set(key, value)
			return out.m, nil
		case []any:
			i, err := index(key, len(c))
			if err != nil {
				return nil, err
			}
			if Equal(c[i], value) {
				return c, nil
			}
			out := slices.Clone(c)
			out[i] = value
			return out, nil
		}
		return nil, errMissing
	}
}

func remove(container any, key string) (any, error) {
	switch c := container.(type) {
	case map[string]any:
		if _, ok := c[key]; !ok {
			return nil, errMissing
		}
		out := draft{m: c}
		out.remove(key)
		return out.m, nil
	case []any:
		i, err := index(key, len(c))
		if err != nil {
			return nil, err
		}
		return slices.Delete(slices.Clone(c), i, i+1), nil
	}
	return nil, errMissing
}

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return pointerEscapes.Replace(token)
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")
