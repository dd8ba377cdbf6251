package memory

import (
	"encoding/binary"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A slot holds an object, which may be packed: of a resource with very many objects, those that
// have not been written for long are, because a map of Go takes over 300 bytes however little is in
// it, and the garbage collector looks at each. Packed, an object takes a fifth, and the collector
// skips it. Whoever uses the slot does not see this: what get returns says the same, at another
// address.
//
// To pack and to unpack take a few microseconds each, which is more than an object costs that is in
// use. It pays where memory is short: at a tenth of a million Pods in 11 GiB, it takes
// a third of the CPU away.
type slot struct {
	obj    *unstructured.Unstructured // nil while it is packed
	packed *packed
}

// get returns the object, nil if there is none. It may change the slot.
func (s *slot) get() *unstructured.Unstructured {
	if s.packed != nil {
		s.obj, s.packed = s.packed.unpack(), nil
	}
	return s.obj
}

// peek is get for those who must not change the slot. It is false if get would.
func (s *slot) peek() (*unstructured.Unstructured, bool) { return s.obj, s.packed == nil }

func (s *slot) set(obj *unstructured.Unstructured) { s.obj, s.packed = obj, nil }

// pack packs the object.
func (s *slot) pack(by *packer) {
	if s.obj != nil {
		s.obj, s.packed = nil, by.pack(s.obj.Object)
	}
}

// A packed object is a text: of each value the kind, and then a number, or a length and what it is
// the length of.
type packed struct {
	text   string
	shared []any    // values that others have too and that are kept as they are, by number
	keys   []string // keys of maps, by number
}

// maxKeys bounds the keys that have a number. All others are written out.
const maxKeys = 1 << 12

// A packer packs the objects of one resource. Most of them have the same keys.
type packer struct {
	keys    []string // by number
	numbers map[string]int
	buf     []byte
	shared  []any
}

func newPacker() *packer { return &packer{numbers: map[string]int{}} }

// What a packed value begins with.
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

// pack packs an object. What Pods of one workload share is kept as it is: their spec, and the lists
// and maps of their metadata. Of an object without a status only the latter are.
func (p *packer) pack(obj map[string]any) *packed {
	p.buf, p.shared = p.buf[:0], nil
	_, hasStatus := obj["status"]
	p.begin(isMap, len(obj))
	for key, v := range obj {
		p.key(key)
		metadata, ok := v.(map[string]any)
		switch {
		case ok && key == "metadata":
			p.metadata(metadata)
		case ok && key != "status" && hasStatus:
			p.share(v)
		default:
			p.value(v)
		}
	}
	return &packed{text: string(p.buf), shared: p.shared, keys: p.keys}
}

func (p *packer) metadata(m map[string]any) {
	p.begin(isMap, len(m))
	for key, v := range m {
		p.key(key)
		if isScalar(v) {
			p.value(v)
		} else {
			p.share(v)
		}
	}
}

func (p *packer) begin(kind byte, n int) {
	p.buf = binary.AppendUvarint(append(p.buf, kind), uint64(n))
}

func (p *packer) text(s string) {
	p.buf = append(binary.AppendUvarint(p.buf, uint64(len(s))), s...)
}

// key writes the number of a key, from 1 on; or 0 and the key.
func (p *packer) key(s string) {
	number, known := p.numbers[s]
	if !known && len(p.keys) < maxKeys {
		p.keys = append(p.keys, s)
		number = len(p.keys)
		p.numbers[s] = number
	}
	p.buf = binary.AppendUvarint(p.buf, uint64(number))
	if number == 0 {
		p.text(s)
	}
}

func (p *packer) share(v any) {
	p.begin(isShared, len(p.shared))
	p.shared = append(p.shared, v)
}

// value writes a value. One that is not JSON is kept as it is, and so are nil maps and lists.
func (p *packer) value(v any) {
	switch v := v.(type) {
	case nil:
		p.buf = append(p.buf, isNull)
	case string:
		p.buf = append(p.buf, isText)
		p.text(v)
	case bool:
		p.buf = append(p.buf, packedBool(v))
	case int64:
		p.buf = binary.AppendVarint(append(p.buf, isInt), v)
	case float64:
		p.buf = binary.BigEndian.AppendUint64(append(p.buf, isFloat), math.Float64bits(v))
	default:
		p.composite(v)
	}
}

func packedBool(v bool) byte {
	if v {
		return isTrue
	}
	return isFalse
}

func (p *packer) composite(v any) {
	m, isAMap := v.(map[string]any)
	list, isAList := v.([]any)
	switch {
	case isAMap && m != nil:
		p.begin(isMap, len(m))
		for key, v := range m {
			p.key(key)
			p.value(v)
		}
	case isAList && list != nil:
		p.begin(isList, len(list))
		for _, item := range list {
			p.value(item)
		}
	default:
		p.share(v)
	}
}

// unpack returns the object.
func (p *packed) unpack() *unstructured.Unstructured {
	u := unpacker{packed: p, rest: p.text}
	obj, _ := u.value().(map[string]any)
	return &unstructured.Unstructured{Object: obj}
}

// An unpacker reads a packed object from left to right. Strings are parts of its text.
type unpacker struct {
	*packed
	rest string
}

func (u *unpacker) next(n int) string {
	next := u.rest[:n]
	u.rest = u.rest[n:]
	return next
}

func (u *unpacker) number() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := u.next(1)[0]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (u *unpacker) string() string { return u.next(int(u.number())) }

func (u *unpacker) key() string {
	if number := u.number(); number > 0 {
		return u.keys[number-1]
	}
	return u.string()
}

func (u *unpacker) value() any {
	switch kind := u.next(1)[0]; kind {
	case isFalse, isTrue:
		return kind == isTrue
	case isInt:
		n := u.number()
		return int64(n>>1) ^ -int64(n&1) // as binary.Varint reads it
	case isFloat:
		return math.Float64frombits(binary.BigEndian.Uint64([]byte(u.next(8))))
	case isText:
		return u.string()
	case isMap:
		n := u.number()
		m := make(map[string]any, n)
		for range n {
			key := u.key()
			m[key] = u.value()
		}
		return m
	case isList:
		list := make([]any, u.number())
		for i := range list {
			list[i] = u.value()
		}
		return list
	case isShared:
		return u.shared[u.number()]
	default:
		return nil
	}
}
