package codec

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// decoders is a pool of decoders: each has its own table of interned strings.
type decoders struct {
	pool       sync.Pool
	drop       Fields         // from objects
	dropInList Fields         // from the items of lists
	recent     *recentObjects // nil: nothing is shared
}

func newDecoders(o Options) *decoders {
	ds := &decoders{pool: sync.Pool{New: func() any { return &decoder{newBuilder(o.Share)} }}}
	if len(o.Drop) > 0 {
		ds.drop, ds.dropInList = o.Drop, Fields{"items": o.Drop}
	}
	if o.Share {
		ds.recent = newRecentObjects()
	}
	return ds
}

// read reads an object of a kind.
func (ds *decoders) read(k *kind, data []byte) (map[string]any, bool) {
	build := func() (map[string]any, bool) { return ds.with(k, data, ds.drop, 0) }
	if ds.recent == nil {
		return build()
	}
	return ds.recent.read(k, data, build)
}

func (ds *decoders) readList(k *kind, data []byte) (map[string]any, bool) {
	return ds.with(k, data, ds.dropInList, listDepth)
}

func (ds *decoders) with(k *kind, data []byte, drop Fields, depth int) (map[string]any, bool) {
	d := ds.pool.Get().(*decoder)
	defer ds.pool.Put(d)
	d.depth = depth
	begun := d.begin()
	d.pending = append(d.pending, member{"apiVersion", k.version}, member{"kind", k.name})
	ok := begun && d.members(k.message, data, drop)
	return d.endMap(0), ok
}

// A decoder reads one protobuf message at a time, from left to right. Its methods stop and return
// false at malformed bytes, and at a field that the schema does not have.
type decoder struct{ builder }

func (d *decoder) object(s *messageSchema, data []byte, drop Fields) (any, bool) {
	first := len(d.pending)
	ok := d.begin() && d.members(s, data, drop)
	return d.endMap(first), ok
}

// members reads the fields of a message, and adds the members that JSON always has.
func (d *decoder) members(s *messageSchema, data []byte, drop Fields) bool {
	var seen uint64
	for len(data) > 0 {
		f, n := s.next(data)
		if n < 0 || f == nil || !d.member(f, data[:n], drop) {
			return false
		}
		seen |= f.bit
		data = data[n:]
	}
	return d.missing(s, seen, drop)
}

// next returns the field that a message begins with, or nil if the schema does not have the field.
// It also returns the number of bytes of its values. Adjacent values of a list or map are read at
// once.
func (s *messageSchema) next(data []byte) (f *field, end int) {
	number, wire, tag := protowire.ConsumeTag(data)
	if tag < 0 {
		return nil, tag
	}
	if f = s.field(number); f == nil || f.wire() != wire {
		return nil, -1
	}
	for end == 0 || f.cardinality != single && bytes.HasPrefix(data[end:], data[:tag]) {
		n := protowire.ConsumeFieldValue(number, wire, data[end+tag:])
		if n < 0 {
			return nil, n
		}
		end += tag + n
	}
	return f, end
}

// wire is the wire type of each value of a field. An entry of a map is a message.
func (f *field) wire() protowire.Type {
	if f.cardinality == mapped {
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
		w, _ := firstValue(values)
		return d.members(f.value.message, w.bytes, drop)
	}
	v, ok := d.values(f, values, within)
	d.add(f, v)
	return ok
}

func (d *decoder) add(f *field, v any) {
	if !f.omitZero || !isZero(v) {
		d.pending = append(d.pending, member{f.name, v})
	}
}

// isZero reports whether v is the zero of a type whose fields JSON can omit.
func isZero(v any) bool {
	return v == nil || v == "" || v == false || v == int64(0) || v == float64(0)
}

// missing adds the JSON values of the fields that have no value in a message.
func (d *decoder) missing(s *messageSchema, seen uint64, drop Fields) bool {
	for _, f := range s.always {
		within, named := drop[f.name]
		switch {
		case seen&f.bit != 0 || named && within == nil:
		case f.missing == asNull:
			d.pending = append(d.pending, member{f.name, nil})
		case f.inline:
			if !d.members(f.value.message, nil, drop) {
				return false
			}
		default:
			v, ok := f.value.read(d, wireValue{}, within)
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
	if f.cardinality == single && f.value.message == nil || drop != nil || !d.shares(data) {
		return d.build(f, data, drop)
	}
	return d.share(data, f, func() (any, bool) { return d.build(f, data, nil) })
}

func (d *decoder) build(f *field, data []byte, drop Fields) (any, bool) {
	switch f.cardinality {
	case repeated:
		return d.elements(f, data, drop)
	case mapped:
		return d.entries(f, data)
	}
	w, _ := firstValue(data)
	return f.value.read(d, w, drop)
}

// elements reads the values of a list, without the fields to drop.
func (d *decoder) elements(f *field, data []byte, drop Fields) (any, bool) {
	first, ok := len(d.pending), d.begin()
	for len(data) > 0 && ok {
		w, rest := firstValue(data)
		v, read := f.value.read(d, w, drop)
		d.pending = append(d.pending, member{value: v})
		data, ok = rest, read
	}
	return d.endList(first), ok
}

// entries reads the values of a map. Each entry is a message of its key, 1, and its value, 2.
func (d *decoder) entries(f *field, data []byte) (any, bool) {
	first, ok := len(d.pending), d.begin()
	for len(data) > 0 && ok {
		w, rest := firstValue(data)
		data, ok = rest, d.entry(f, w.bytes)
	}
	return d.endMap(first), ok
}

func (d *decoder) entry(f *field, data []byte) bool {
	key, ok := lastValue(data, 1)
	w, _ := lastValue(data, 2)
	if !ok {
		return false
	}
	v, ok := f.value.read(d, w, nil)
	d.pending = append(d.pending, member{d.intern(key.bytes).text, v})
	return ok
}
