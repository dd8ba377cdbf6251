package render

import (
	"maps"
	"strings"
)

// A form is the value of the texts of one route, with gaps for what is printed: their lines and flow collections are read once. That holds for as
// long as each print is in a scalar, and what stands there can be read as one.
type form struct {
	root gap // nil if there is none: the text has to be read
	size int // its gaps, and what is the same in all texts
}

// A gap is a part of a form.
type gap interface {
	// fill returns the value with the prints of the run, or false if it is not certain.
	fill(r *run) (any, bool)
}

// formOf reads a text with prints at the spans.
func formOf(text string, spans []extent, words *vocabulary) *form {
	f := &former{text: text, spans: spans, words: words}
	v, ok := readPlain(text, f, words)
	if !ok || f.next < len(spans) {
		return &form{}
	}
	root := f.part(v)
	if f.gaps != f.met {
		return &form{} // one is hidden by a key of the same name
	}
	return &form{root, f.met + len(text)/bytesPerStep}
}

// value fills the form in.
func (f *form) value(r *run) (any, bool) {
	if f == nil || f.root == nil {
		return nil, false
	}
	return f.root.fill(r)
}

// A former makes a form. It reads scalars with prints as gaps.
type former struct {
	text  string
	spans []extent
	next  int // the first span that was not read
	words *vocabulary
	gaps  int // that were read
	met   int // in the value
}

// leaf reads scalars without prints as they are.
func (f *former) leaf(s string, at int, allowed class) (any, bool) {
	v, ok := f.words.leaf(s, at, allowed)
	first, end := f.next, at+len(s)
	for f.next < len(f.spans) && f.spans[f.next].from <= end {
		f.next++
	}
	spans := f.spans[first:f.next]
	if len(spans) == 0 || !ok {
		return v, ok
	}
	if spans[0].from < at || spans[len(spans)-1].to > end {
		return nil, false
	}
	f.gaps++
	if whole := spans[0]; whole.from == at && whole.to == end && len(spans) == 1 {
		return single{first, whole.quoted, allowed}, true
	}
	return f.mixture(at, end, first, allowed), true
}

// mixture is a scalar of texts and prints.
func (f *former) mixture(at, end, first int, allowed class) *mixture {
	m := &mixture{first: first, allowed: allowed}
	for _, s := range f.spans[first:f.next] {
		m.pieces = append(m.pieces, piece{text: strings.Clone(f.text[at:s.from]), isText: true}, piece{quoted: s.quoted})
		at = s.to
	}
	m.pieces = append(m.pieces, piece{text: strings.Clone(f.text[at:end]), isText: true})
	return m
}

// part finds the gaps in a value: it is a gap itself, or the same in all texts.
func (f *former) part(v any) gap {
	switch v := v.(type) {
	case gap:
		f.met++
		return v
	case map[string]any:
		return f.mapping(v)
	case []any:
		return f.sequence(v)
	}
	return constant{v}
}

func (f *former) mapping(m map[string]any) gap {
	b := &record{same: m}
	for k, v := range m {
		part := f.part(v)
		if _, ok := part.(constant); !ok {
			b.fields = append(b.fields, field{k, part})
			m[k] = nil
		}
	}
	if len(b.fields) == 0 {
		return constant{m}
	}
	return b
}

func (f *former) sequence(list []any) gap {
	b := &series{same: list}
	for i, v := range list {
		part := f.part(v)
		if _, ok := part.(constant); !ok {
			b.items = append(b.items, listed{i, part})
			list[i] = nil
		}
	}
	if len(b.items) == 0 {
		return constant{list}
	}
	return b
}

// constant is the same in all texts.
type constant struct{ v any }

func (c constant) fill(*run) (any, bool) { return c.v, true }

// single is all of a scalar.
type single struct {
	at      int // among the prints
	quoted  bool
	allowed class
}

func (s single) fill(r *run) (any, bool) {
	switch v := r.prints[s.at].(type) {
	case int64, bool:
		return v, true
	case int:
		return int64(v), true
	case verbatim:
		return r.leaf(string(v), s.allowed)
	case string:
		if s.quoted {
			return r.prints[s.at], true
		}
		return r.leaf(v, s.allowed)
	}
	return nil, false
}

// mixture is a scalar of texts and prints.
type mixture struct {
	first   int // of the prints
	pieces  []piece
	allowed class
}

func (m *mixture) fill(r *run) (any, bool) {
	r.out = r.out[:0]
	at := m.first
	for _, p := range m.pieces {
		if p.isText {
			r.out = append(r.out, p.text...)
			continue
		}
		r.out = appendPrint(r.out, r.prints[at], p.quoted)
		at++
	}
	return r.leaf(string(r.out), m.allowed)
}

// leaf reads a scalar that must be all that stands in its place: space at its end is none of it.
func (r *run) leaf(s string, allowed class) (any, bool) {
	if s == "" || s[len(s)-1] == ' ' {
		return nil, false
	}
	return r.words.leaf(s, 0, allowed)
}

type record struct {
	same   map[string]any // the fields that are, and null for the others
	fields []field
}

type field struct {
	name string
	gap  gap
}

func (m *record) fill(r *run) (any, bool) {
	out := maps.Clone(m.same)
	for i := range m.fields {
		v, ok := m.fields[i].gap.fill(r)
		if !ok {
			return nil, false
		}
		out[m.fields[i].name] = v
	}
	return out, true
}

type series struct {
	same  []any // the items that are, and null for the others
	items []listed
}

type listed struct {
	at  int
	gap gap
}

func (s *series) fill(r *run) (any, bool) {
	out := make([]any, len(s.same))
	copy(out, s.same)
	for i := range s.items {
		v, ok := s.items[i].gap.fill(r)
		if !ok {
			return nil, false
		}
		out[s.items[i].at] = v
	}
	return out, true
}
