package codec

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/json"
)

// jsonReaders is a pool of readers: each has its own table of interned strings.
type jsonReaders struct {
	pool       sync.Pool
	drop       Fields // from objects
	dropInList Fields // from the items of lists
}

func newJSONReaders(o Options) *jsonReaders {
	rs := &jsonReaders{pool: sync.Pool{New: func() any { return &jsonReader{builder: newBuilder(o.Share)} }}}
	if len(o.Drop) > 0 {
		rs.drop, rs.dropInList = o.Drop, Fields{"items": o.Drop}
	}
	return rs
}

// read reads an object. It returns false if the text is not an object, or if client-go's codec has
// to read a part of it.
func (rs *jsonReaders) read(data []byte) (map[string]any, bool) { return rs.with(data, rs.drop, 0) }

// readList reads a list of objects.
func (rs *jsonReaders) readList(data []byte) (map[string]any, bool) {
	return rs.with(data, rs.dropInList, listDepth)
}

func (rs *jsonReaders) with(data []byte, drop Fields, depth int) (map[string]any, bool) {
	r := rs.pool.Get().(*jsonReader)
	defer rs.pool.Put(r)
	r.cursor, r.depth = cursor{data: data}, depth
	v, ok := r.value(drop)
	r.space()
	ok = ok && r.at == len(data)
	r.cursor = cursor{}
	m, isObject := v.(map[string]any)
	return m, ok && isObject
}

// A jsonReader reads one JSON text at a time, from left to right. Its methods return false where
// they stop.
type jsonReader struct {
	cursor
	builder
}

func (r *jsonReader) value(drop Fields) (any, bool) {
	switch r.peek() {
	case '{', '[':
		if drop == nil && r.shares(nil) {
			return r.part()
		}
		return r.build(drop)
	case '"':
		return r.text()
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	}
	return number(r.cursor.number())
}

// part reads an object or array that may be shared with other objects.
func (r *jsonReader) part() (any, bool) {
	var b brackets
	n := b.end(r.data[r.at:min(len(r.data), r.at+sharedMaxSize)])
	if n < 0 {
		return r.build(nil)
	}
	end := r.at + n
	v, ok := r.share(r.data[r.at:end], nil, func() (any, bool) { return r.build(nil) })
	if ok {
		r.at = end
	}
	return v, ok
}

// build reads an object or an array.
func (r *jsonReader) build(drop Fields) (any, bool) {
	if r.data[r.at] == '{' {
		return r.object(drop)
	}
	return r.array(drop)
}

// object reads an object without the fields to drop. Of two members with the same name, the last
// one is taken.
func (r *jsonReader) object(drop Fields) (any, bool) {
	r.at++
	first := len(r.pending)
	ok := r.begin() && r.members(drop)
	return r.endMap(first), ok
}

// members reads up to the end of an object.
func (r *jsonReader) members(drop Fields) bool {
	if r.take('}') {
		return true
	}
	for {
		key, ok := r.key()
		if !ok || !r.member(key, drop) {
			return false
		}
		if !r.take(',') {
			return r.take('}')
		}
	}
}

func (r *jsonReader) key() (string, bool) {
	if r.peek() != '"' {
		return "", false
	}
	w, ok := r.quotedText()
	return w.text, ok && r.take(':')
}

func (r *jsonReader) member(key string, drop Fields) bool {
	within, named := drop[key]
	if named && within == nil {
		return r.skip()
	}
	v, ok := r.value(within)
	r.pending = append(r.pending, member{key, v})
	return ok
}

// array reads an array, without the fields to drop in its elements.
func (r *jsonReader) array(drop Fields) (any, bool) {
	r.at++
	first := len(r.pending)
	ok := r.begin() && r.elements(drop)
	return r.endList(first), ok
}

// elements reads up to the end of an array.
func (r *jsonReader) elements(drop Fields) bool {
	if r.take(']') {
		return true
	}
	for {
		v, ok := r.value(drop)
		if !ok {
			return false
		}
		r.pending = append(r.pending, member{value: v})
		if !r.take(',') {
			return r.take(']')
		}
	}
}

func (r *jsonReader) text() (any, bool) {
	w, ok := r.quotedText()
	return w.boxed(), ok
}

// quotedText reads a string.
func (r *jsonReader) quotedText() (*interned, bool) {
	start := r.at
	text, plain, ok := r.quoted()
	if plain {
		return r.intern(text), ok
	}
	w := new(interned)
	return w, ok && json.Unmarshal(r.data[start:r.at], &w.text) == nil
}

// number reads a number: an int64 if it is written as one and is not too large, else a float64.
func number(text []byte) (any, bool) {
	if n, ok := small(text); ok {
		return n, true
	}
	var v any
	ok := len(text) > 0 && json.Unmarshal(text, &v) == nil
	return v, ok
}

// small reads an integer of 1 to 18 digits, which always fits.
func small(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
