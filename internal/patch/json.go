package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	errMissing  = errors.New("the path does not exist")
	errTest     = errors.New("the value under test is another one")
	errIndex    = errors.New("no such list index")
	errNoObject = errors.New("the value must be an object or a list")
	errTooLarge = fmt.Errorf("the patch copies more than %d bytes", maxCopied)
	errTooMoved = fmt.Errorf("the patch moves more than %d list elements: insert fewer, or replace the whole list", maxMoved)
)

const (
	// maxOperations is the largest number of operations of a patch, as in the API server.
	maxOperations = 10_000
	// maxCopied bounds the bytes that all copy operations of a patch copy, about as in the API server.
	// Each copy may double the object.
	maxCopied = 3 << 20
	// maxMoved bounds the list elements that all operations of a patch move to make or close gaps, which
	// takes about a second. The API server has no such limit.
	maxMoved = 1 << 28
)

// A CountError is the number of operations of a JSON patch that has too many.
type CountError int

func (n CountError) Error() string {
	return fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, int(n))
}

// IsLimit reports whether an error of [JSON] is that a limit was exceeded.
func IsLimit(err error) bool {
	var many CountError
	return errors.As(err, &many) || errors.Is(err, errTooLarge) || errors.Is(err, errTooMoved)
}

// JSON applies the operations of a JSON patch (RFC 6902), each a map with "op", "path", and "from"
// or "value". Either all operations apply, or the first fault is returned as an [Error]. A patch
// with more than 10,000 operations is a [CountError], and no operation is applied. Copy operations
// may copy 3 MiB in all.
//
// As in the API server: an index may count from the end (-1 is the last element; in "add", the
// place after it), "replace" creates a missing member, "copy" of a missing member copies null,
// "test" of a missing member against null succeeds, and the text before the first slash of a path
// is skipped.
func JSON(target any, ops []any) (any, error) {
	if len(ops) > maxOperations {
		return nil, CountError(len(ops))
	}
	d := document{toCopy: maxCopied, toMove: maxMoved}
	for i, raw := range ops {
		op, err := newOperation(raw)
		if err == nil {
			target, err = d.apply(op, target)
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

func (d *document) apply(op operation, target any) (any, error) {
	switch op.kind {
	case "add":
		return d.edit(target, op.path, d.add(op.value))
	case "remove":
		return d.edit(target, op.path, d.remove)
	case "replace":
		return d.replaceAt(op, target)
	case "move":
		return d.move(op, target)
	case "copy":
		return d.copy(op, target)
	case "test":
		return target, op.test(target)
	default:
		return nil, fmt.Errorf("unknown op %q", op.kind)
	}
}

func (d *document) replaceAt(op operation, target any) (any, error) {
	if op.path != "" {
		return d.edit(target, op.path, d.replace(op.value))
	}
	switch op.value.(type) {
	case map[string]any, []any:
		return op.value, nil
	}
	return nil, errNoObject
}

func (d *document) move(op operation, target any) (any, error) {
	v, err := get(target, op.from)
	if err == nil {
		target, err = d.edit(target, op.from, d.remove)
	}
	if err != nil {
		return nil, fmt.Errorf("from %q: %w", op.from, err)
	}
	return d.edit(target, op.path, d.add(v))
}

func (d *document) copy(op operation, target any) (any, error) {
	v, err := get(target, op.from)
	if err != nil {
		return nil, fmt.Errorf("from %q: %w", op.from, err)
	}
	if v = d.copyOf(v); d.toCopy < 0 {
		return nil, errTooLarge
	}
	return d.edit(target, op.path, d.add(v))
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

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return pointerEscapes.Replace(token)
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")
