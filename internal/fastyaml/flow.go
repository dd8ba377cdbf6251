package fastyaml

import "strings"

// flow reads one-line flow collections and the scalars in them.
type flow struct{ rest string }

func (f *flow) value(depth int) (v any, ok bool) {
	switch {
	case depth > maxDepth:
		return nil, false
	case f.at('['):
		return f.list(depth + 1)
	case f.at('{'):
		return f.object(depth + 1)
	}
	s, ok := f.cutScalar()
	if !ok {
		return nil, false
	}
	return scalar(s, inFlow)
}

func (f *flow) list(depth int) (any, bool) {
	list := []any{}
	ok := f.elements(']', func() bool {
		v, ok := f.value(depth)
		list = append(list, v)
		return ok
	})
	return list, ok
}

func (f *flow) object(depth int) (any, bool) {
	m := map[string]any{}
	ok := f.elements('}', func() bool {
		key, ok := f.key()
		if !ok {
			return false
		}
		m[key], ok = f.value(depth)
		return ok
	})
	return m, ok
}

// elements reads a bracket, what stands between commas, and the bracket that ends it.
func (f *flow) elements(end byte, read func() bool) bool {
	f.skip()
	for !f.at(end) {
		if !read() {
			return false
		}
		f.rest = strings.TrimLeft(f.rest, " ")
		if !f.at(',') {
			break
		}
		f.skip()
	}
	if !f.at(end) {
		return false
	}
	f.rest = f.rest[1:]
	return true
}

// key reads a key and its colon. One without quotes needs space after the colon, else that belongs
// to the key.
func (f *flow) key() (key string, ok bool) {
	if f.rest == "" {
		return "", false
	}
	quoted := isQuote(f.rest[0])
	if quoted {
		key, f.rest, ok = cutQuoted(f.rest)
	} else {
		key, f.rest, ok = cutName(f.rest)
	}
	if !ok || !f.at(':') || len(key) > maxKey || !quoted && !strings.HasPrefix(f.rest, ": ") {
		return "", false
	}
	f.skip()
	return key, true
}

// cutScalar returns the text of the scalar that comes next.
func (f *flow) cutScalar() (s string, ok bool) {
	if f.rest == "" {
		return "", false
	}
	end := strings.IndexAny(f.rest, ",]}")
	if isQuote(f.rest[0]) {
		_, rest, ok := cutQuoted(f.rest)
		if end = len(f.rest) - len(rest); !ok {
			end = -1
		}
	}
	if end < 0 {
		return "", false
	}
	s, f.rest = f.rest[:end], f.rest[end:]
	return trimSpaces(s), true
}

func (f *flow) at(c byte) bool { return f.rest != "" && f.rest[0] == c }

// skip goes behind a character and the spaces after it.
func (f *flow) skip() { f.rest = strings.TrimLeft(f.rest[1:], " ") }
