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

// A freezer writes objects as text: a kind, then a number, or a length and what it is the length of. It knows the names of fields by number.
type freezer struct {
	names   []string
	numbers map[string]int
	buf     []byte
	shared  []any
}

// mostNames bounds what a freezer remembers of objects that have keys of their own, like the data of ConfigMaps.
const mostNames = 1 << 12

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
	return &freezer{names: slices.Clip(f.names), numbers: maps.Clone(f.numbers)}
}

// freeze writes an object. What Pods of one workload share is kept as it is: their spec and the lists and maps of their metadata. An object
// without a status shares only the latter.
func (f *freezer) freeze(obj map[string]any) *frozen {
	f.buf, f.shared = f.buf[:0], nil
	_, hasStatus := obj["status"]
	f.open(isMap, len(obj))
	for name, v := range obj {
		f.name(name)
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

func (f *freezer) text(s string) {
	f.open(isText, len(s))
	f.buf = append(f.buf, s...)
}

func (f *freezer) share(v any) {
	f.open(isShared, len(f.shared))
	f.shared = append(f.shared, v)
}

// name writes the name of a field: its number, or 0 and itself.
func (f *freezer) name(name string) {
	number, known := f.numbers[name]
	if !known && len(f.names) < mostNames {
		f.names = append(f.names, name)
		number = len(f.names)
		f.numbers[name] = number
	}
	f.buf = binary.AppendUvarint(f.buf, uint64(number))
	if number == 0 {
		f.text(name)
	}
}

// fields writes a map. If it shares, only the scalars in it are its own.
func (f *freezer) fields(m map[string]any, shares bool) {
	if m == nil {
		f.share(m)
		return
	}
	f.open(isMap, len(m))
	for name, v := range m {
		f.name(name)
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
	t := thawing{freezer: f, shared: z.shared, text: z.text}
	obj, _ := t.value().(map[string]any)
	return &unstructured.Unstructured{Object: obj}
}

// thawing reads a text from its beginning on. Strings are parts of it.
type thawing struct {
	*freezer
	shared []any
	text   string
}

func (t *thawing) byte() byte {
	b := t.text[0]
	t.text = t.text[1:]
	return b
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
	s := t.text[:n]
	t.text = t.text[n:]
	return s
}

func (t *thawing) name() string {
	if number := t.number(); number > 0 {
		return t.names[number-1]
	}
	name, _ := t.value().(string)
	return name
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
		return t.next(int(t.number()))
	case isMap:
		return t.fields()
	case isList:
		return t.list()
	case isShared:
		return t.shared[t.number()]
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
