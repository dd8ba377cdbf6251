package codec

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// decoders keeps decoders for reuse: each has a memory of strings.
type decoders struct {
	pool       sync.Pool
	drop       Fields  // from objects
	dropInList Fields  // from the items of lists
	recent     *recent // nil: nothing is shared
}

func newDecoders(o Options) *decoders {
	ds := &decoders{pool: sync.Pool{New: func() any { return &decoder{newBuilder(o.Share)} }}}
	if len(o.Drop) > 0 {
		ds.drop, ds.dropInList = o.Drop, Fields{"items": o.Drop}
	}
	if o.Share {
		ds.recent = newRecent()
	}
	return ds
}

// read reads an object of a kind.
func (ds *decoders) read(k *kind, data []byte) (map[string]any, bool) {
	read := func() (map[string]any, bool) { return ds.with(k, data, ds.drop, 0) }
	if ds.recent == nil {
		return read()
	}
	return ds.recent.object(k, data, read)
}

func (ds *decoders) readList(k *kind, data []byte) (map[string]any, bool) {
	return ds.with(k, data, ds.dropInList, ofList)
}

func (ds *decoders) with(k *kind, data []byte, drop Fields, depth int) (map[string]any, bool) {
	d := ds.pool.Get().(*decoder)
	defer ds.pool.Put(d)
	d.depth = depth
	begun := d.enter()
	d.open = append(d.open, member{"apiVersion", k.version}, member{"kind", k.name})
	ok := begun && d.members(k.shape, data, drop)
	return d.mapping(0), ok
}

// A decoder reads one protobuf message at a time, from left to right. Its methods are false where they stop.
type decoder struct{ builder }

func (d *decoder) object(s *shape, data []byte, drop Fields) (any, bool) {
	first := len(d.open)
	ok := d.enter() && d.members(s, data, drop)
	return d.mapping(first), ok
}

// members reads the fields of a message, and those that JSON has always.
func (d *decoder) members(s *shape, data []byte, drop Fields) bool {
	var seen uint64
	for len(data) > 0 {
		f, n := s.next(data)
		if n < 0 {
			return false
		}
		if f != nil { // else it is of another version
			seen |= f.bit
			if !d.member(f, data[:n], drop) {
				return false
			}
		}
		data = data[n:]
	}
	return d.missing(s, seen, drop)
}

// next returns the field that a message begins with, and how many bytes are its values, which follow each other.
func (s *shape) next(data []byte) (f *field, end int) {
	number, wire, tag := protowire.ConsumeTag(data)
	if tag < 0 {
		return nil, tag
	}
	if f = s.field(number); f != nil && f.wire() != wire {
		return nil, -1
	}
	for end == 0 || f != nil && f.many != one && bytes.HasPrefix(data[end:], data[:tag]) {
		n := protowire.ConsumeFieldValue(number, wire, data[end+tag:])
		if n < 0 {
			return nil, n
		}
		end += tag + n
	}
	return f, end
}

// wire is how each of the values that a message has for a field is written.
func (f *field) wire() protowire.Type {
	if f.many == byName {
		return protowire.BytesType
	}
	return f.value.wire
}

// member reads a field.
func (d *decoder) member(f *field, values []byte, drop Fields) bool {
	within, named := drop[f.name]
	switch {
	case named && within == nil:
		return true
	case f.inline:
		w, _ := cut(values)
		return d.members(f.value.parts, w.bytes, drop)
	}
	v, ok := d.values(f, values, within)
	d.add(f, v)
	return ok
}

func (d *decoder) add(f *field, v any) {
	if !f.omit || !isZero(v) {
		d.open = append(d.open, member{f.name, v})
	}
}

// isZero reports whether v is a zero, as far as fields of structs that may be omitted have one.
func isZero(v any) bool { return v == nil || v == "" || v == false || v == int64(0) || v == float64(0) }

// missing adds what JSON has for the fields of which a message has nothing.
func (d *decoder) missing(s *shape, seen uint64, drop Fields) bool {
	for _, f := range s.always {
		within, named := drop[f.name]
		switch {
		case seen&f.bit != 0 || named && within == nil:
		case f.missing == null:
			d.open = append(d.open, member{f.name, nil})
		case f.inline:
			if !d.members(f.value.parts, nil, drop) {
				return false
			}
		default:
			v, ok := f.value.read(d, written{}, within)
			if !ok {
				return false
			}
			d.add(f, v)
		}
	}
	return true
}

// values reads the values of a field.
func (d *decoder) values(f *field, data []byte, drop Fields) (any, bool) {
	if f.many == one && f.value.parts == nil || drop != nil || !d.shares(data) {
		return d.build(f, data, drop)
	}
	return d.shared(data, f, func() (any, bool) { return d.build(f, data, nil) })
}

func (d *decoder) build(f *field, data []byte, drop Fields) (any, bool) {
	switch f.many {
	case list:
		return d.elements(f, data, drop)
	case byName:
		return d.entries(f, data)
	}
	w, _ := cut(data)
	return f.value.read(d, w, drop)
}

// elements reads the values of a list. What is to be dropped is dropped from each.
func (d *decoder) elements(f *field, data []byte, drop Fields) (any, bool) {
	first, ok := len(d.open), d.enter()
	for len(data) > 0 && ok {
		w, rest := cut(data)
		v, read := f.value.read(d, w, drop)
		d.open = append(d.open, member{value: v})
		data, ok = rest, read
	}
	return d.list(first), ok
}

// entries reads the values of a map, each of which is a message of its name and itself.
func (d *decoder) entries(f *field, data []byte) (any, bool) {
	first, ok := len(d.open), d.enter()
	for len(data) > 0 && ok {
		w, rest := cut(data)
		data, ok = rest, d.entry(f, w.bytes)
	}
	return d.mapping(first), ok
}

func (d *decoder) entry(f *field, data []byte) bool {
	name, ok := find(data, 1)
	w, _ := find(data, 2)
	if !ok {
		return false
	}
	v, ok := f.value.read(d, w, nil)
	d.open = append(d.open, member{d.remember(name.bytes).text, v})
	return ok
}
