package memory

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// frozen is an object that nobody has written for so long that the log of its table has forgotten it: most objects of a large cluster, most of the
// time. A map of Go takes over 300 bytes however little is in it, and the garbage collector looks at each; what is frozen takes a fifth, and it
// does not look at it. An object that is asked for is thawed. Its value is the same, its address is not.
//
// To freeze and thaw takes a few microseconds, about what it spares the garbage collector, so it is done only where memory is short: in a crowd.
type frozen struct {
	text   string // what is its own, as a freezer writes it
	shared []any  // what it may share with others, by number
}

// A freezer writes objects as text: of each value the kind, then a number, or a length and what it is the length of. Names of fields and other texts
// that come again and again are words, which it knows by number.
type freezer struct {
	words   []any // strings; the first has number 1
	numbers map[string]int
	seen    [256]sighting
	objects int // how many were frozen
	buf     []byte
	shared  []any
}

// A sighting is a text that may become a word.
type sighting struct {
	text   string
	object int
}

// mostWords bounds what a freezer remembers.
const mostWords = 1 << 12

// What a value begins with.
const (
	isNull byte = iota
	isFalse
	isTrue
	isInt
	isFloat
	isText
	isMap
	isList
	isShared
)

func newFreezer() *freezer { return &freezer{numbers: map[string]int{}} }

// fork returns a freezer that thaws what this one froze.
func (f *freezer) fork() *freezer {
	return &freezer{words: slices.Clip(f.words), numbers: maps.Clone(f.numbers)}
}

// freeze writes an object. What Pods of one workload share is kept as it is: their spec and the lists and maps of their metadata. An object
// without a status shares only the latter.
func (f *freezer) freeze(obj map[string]any) *frozen {
	f.buf, f.shared = f.buf[:0], nil
	f.objects++
	_, hasStatus := obj["status"]
	f.open(isMap, len(obj))
	for name, v := range obj {
		f.text(name)
		metadata, ok := v.(map[string]any)
		switch {
		case ok && name == "metadata":
			f.fields(metadata, true)
		case ok && name != "status" && hasStatus:
			f.share(v)
		default:
			f.value(v)
		}
	}
	return &frozen{string(f.buf), f.shared}
}

func (f *freezer) open(kind byte, n int) {
	f.buf = binary.AppendUvarint(append(f.buf, kind), uint64(n))
}

// text writes the number of a word; or 0, the length and the text.
func (f *freezer) text(s string) {
	number := f.number(s)
	f.buf = binary.AppendUvarint(f.buf, uint64(number))
	if number == 0 {
		f.buf = binary.AppendUvarint(f.buf, uint64(len(s)))
		f.buf = append(f.buf, s...)
	}
}

// number is that of a word, or 0. A text that is seen in a second object becomes one: most texts of an object are either its own or those of many.
func (f *freezer) number(s string) int {
	if number, known := f.numbers[s]; known {
		return number
	}
	last := &f.seen[place(s)]
	if last.text != s || last.object == f.objects || len(f.words) == mostWords {
		*last = sighting{s, f.objects}
		return 0
	}
	f.words = append(f.words, s)
	f.numbers[s] = len(f.words)
	return len(f.words)
}

// place looks at a few bytes only: texts that share a place become words later.
func place(s string) byte {
	if s == "" {
		return 0
	}
	return byte(len(s))*31 ^ s[0]*7 ^ s[len(s)/2]*3 ^ s[len(s)-1]
}

func (f *freezer) share(v any) {
	f.open(isShared, len(f.shared))
	f.shared = append(f.shared, v)
}

// fields writes a map. If it shares, only the scalars in it are its own.
func (f *freezer) fields(m map[string]any, shares bool) {
	if m == nil {
		f.share(m)
		return
	}
	f.open(isMap, len(m))
	for name, v := range m {
		f.text(name)
		if shares && !isScalar(v) {
			f.share(v)
		} else {
			f.value(v)
		}
	}
}

// value writes a value; one that is not JSON is kept as it is.
func (f *freezer) value(v any) {
	switch v := v.(type) {
	case nil:
		f.buf = append(f.buf, isNull)
	case string:
		f.buf = append(f.buf, isText)
		f.text(v)
	case bool:
		f.buf = append(f.buf, boolean(v))
	case int64:
		f.buf = binary.AppendVarint(append(f.buf, isInt), v)
	case float64:
		f.buf = binary.BigEndian.AppendUint64(append(f.buf, isFloat), math.Float64bits(v))
	case map[string]any:
		f.fields(v, false)
	case []any:
		f.list(v)
	default:
		f.share(v)
	}
}

func boolean(v bool) byte {
	if v {
		return isTrue
	}
	return isFalse
}

func (f *freezer) list(list []any) {
	if list == nil {
		f.share(list)
		return
	}
	f.open(isList, len(list))
	for _, item := range list {
		f.value(item)
	}
}

// thaw returns the object again.
func (f *freezer) thaw(z *frozen) *unstructured.Unstructured {
	t := thawing{freezer: f, frozen: z}
	obj, _ := t.value().(map[string]any)
	return &unstructured.Unstructured{Object: obj}
}

// thawing reads a frozen object from its beginning on. Strings are parts of its text.
type thawing struct {
	*freezer
	*frozen
	at int
}

func (t *thawing) byte() byte {
	t.at++
	return t.frozen.text[t.at-1]
}

func (t *thawing) number() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := t.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (t *thawing) next(n int) string {
	t.at += n
	return t.frozen.text[t.at-n : t.at]
}

// word reads a text as a value.
func (t *thawing) word() any {
	if number := t.number(); number > 0 {
		return t.words[number-1]
	}
	return t.next(int(t.number()))
}

// name reads a text as a name.
func (t *thawing) name() string {
	if number := t.number(); number > 0 {
		name, _ := t.words[number-1].(string)
		return name
	}
	return t.next(int(t.number()))
}

func (t *thawing) value() any {
	switch kind := t.byte(); kind {
	case isFalse, isTrue:
		return kind == isTrue
	case isInt:
		n := t.number()
		return int64(n>>1) ^ -int64(n&1) // as binary.Varint reads it
	case isFloat:
		return math.Float64frombits(binary.BigEndian.Uint64([]byte(t.next(8))))
	case isText:
		return t.word()
	case isMap:
		return t.fields()
	case isList:
		return t.list()
	case isShared:
		return t.frozen.shared[t.number()]
	default:
		return nil
	}
}

func (t *thawing) fields() map[string]any {
	n := int(t.number())
	m := make(map[string]any, n)
	for range n {
		name := t.name()
		m[name] = t.value()
	}
	return m
}

func (t *thawing) list() []any {
	list := make([]any, t.number())
	for i := range list {
		list[i] = t.value()
	}
	return list
}
