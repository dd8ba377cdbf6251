package codec

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"
)

// readers keeps readers for reuse: each has a memory of strings.
type readers struct {
	pool       sync.Pool
	drop       Fields // from objects
	dropInList Fields // from the items of lists
}

func newReaders(o Options) *readers {
	rs := &readers{pool: sync.Pool{New: func() any { return newReader(o.Share) }}}
	if len(o.Drop) > 0 {
		rs.drop, rs.dropInList = o.Drop, Fields{"items": o.Drop}
	}
	return rs
}

// read reads an object. It is false if the text is not one, or is one that takes an unusual turn.
func (rs *readers) read(data []byte) (map[string]any, bool) { return rs.with(data, rs.drop) }

// readList reads a list of objects.
func (rs *readers) readList(data []byte) (map[string]any, bool) { return rs.with(data, rs.dropInList) }

func (rs *readers) with(data []byte, drop Fields) (map[string]any, bool) {
	r := rs.pool.Get().(*reader)
	defer rs.pool.Put(r)
	r.cursor, r.depth = cursor{data: data}, 0
	v, ok := r.value(drop)
	r.space()
	ok = ok && r.at == len(data)
	r.cursor = cursor{}
	m, isObject := v.(map[string]any)
	return m, ok && isObject
}

const (
	longest = 40  // bytes of a string that is remembered
	deepest = 100 // objects and lists within each other
)

// A reader reads one JSON text at a time, from left to right. Its methods are false where they stop.
type reader struct {
	cursor
	depth int
	// open holds the members and elements of what has begun and not ended, so that maps and slices are made in their final size.
	open    []member
	seed    maphash.Seed
	words   [512]word
	phrases *phrases // nil: each object has its own
}

func newReader(share bool) *reader {
	r := &reader{seed: maphash.MakeSeed()}
	if share {
		r.phrases = new(phrases)
	}
	return r
}

type member struct {
	key   string
	value any
}

// A word is a string, and the same as a value once it has been one: making a value of a string takes memory too.
type word struct {
	text  string
	value any
}

func (r *reader) value(drop Fields) (any, bool) {
	switch r.peek() {
	case '{', '[':
		if drop == nil && r.phrases != nil && r.depth >= common {
			return r.shared()
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

// build reads an object or an array.
func (r *reader) build(drop Fields) (any, bool) {
	if r.data[r.at] == '{' {
		return r.object(drop)
	}
	return r.array(drop)
}

// object reads an object without the fields to drop. As everywhere, the last of two members of a name counts.
func (r *reader) object(drop Fields) (any, bool) {
	first := len(r.open)
	ok := r.enter() && r.members(drop)
	members := r.open[first:]
	m := make(map[string]any, len(members))
	for _, e := range members {
		m[e.key] = e.value
	}
	r.leave(first)
	return m, ok
}

// members reads up to the end of an object.
func (r *reader) members(drop Fields) bool {
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

func (r *reader) key() (string, bool) {
	if r.peek() != '"' {
		return "", false
	}
	w, ok := r.word()
	return w.text, ok && r.take(':')
}

func (r *reader) member(key string, drop Fields) bool {
	within, named := drop[key]
	if named && within == nil {
		return r.skip()
	}
	v, ok := r.value(within)
	r.open = append(r.open, member{key, v})
	return ok
}

// array reads an array. What is to be dropped is dropped from each of its elements.
func (r *reader) array(drop Fields) (any, bool) {
	first := len(r.open)
	ok := r.enter() && r.elements(drop)
	elements := r.open[first:]
	list := make([]any, len(elements))
	for i, e := range elements {
		list[i] = e.value
	}
	r.leave(first)
	return list, ok
}

// elements reads up to the end of an array.
func (r *reader) elements(drop Fields) bool {
	if r.take(']') {
		return true
	}
	for {
		v, ok := r.value(drop)
		if !ok {
			return false
		}
		r.open = append(r.open, member{value: v})
		if !r.take(',') {
			return r.take(']')
		}
	}
}

// enter steps over the bracket that opens.
func (r *reader) enter() bool {
	r.at++
	r.depth++
	return r.depth <= deepest
}

func (r *reader) leave(first int) {
	clear(r.open[first:])
	r.open = r.open[:first]
	r.depth--
}

func (r *reader) text() (any, bool) {
	w, ok := r.word()
	if w.value == nil {
		w.value = w.text
	}
	return w.value, ok
}

// word reads a string.
func (r *reader) word() (*word, bool) {
	start := r.at
	text, plain, ok := r.quoted()
	if plain {
		return r.remember(text), ok
	}
	w := new(word)
	return w, ok && json.Unmarshal(r.data[start:r.at], &w.text) == nil
}

// remember makes a string of bytes, or finds it.
func (r *reader) remember(text []byte) *word {
	if len(text) > longest {
		return &word{text: string(text)}
	}
	w := &r.words[maphash.Bytes(r.seed, text)%uint64(len(r.words))]
	if w.text != string(text) {
		*w = word{text: string(text)}
	}
	return w
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
