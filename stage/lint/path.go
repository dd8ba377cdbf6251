package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// A path is a jq program that only follows fields, starting at the object.
type path []step

// A step of a path is one of: a field, each element of a list, the element at an index, or
// select(.field == "text").
type step struct {
	field string
	index int // -1 unless it is an index
	each  bool
	where map[string]string // for select(.type == "Ready"): type and Ready
}

// parsePath reads a jq program as a path. It is false if the program does anything else.
func parsePath(source string) (path, bool) {
	q, err := gojq.Parse(source)
	if err != nil {
		return nil, false
	}
	return pathOf(q, nil)
}

func pathOf(q *gojq.Query, p path) (path, bool) {
	ok := len(q.FuncDefs) == 0 && len(q.Patterns) == 0
	switch {
	case !ok:
		return nil, false
	case q.Term != nil:
		return termPath(q.Term, p)
	case q.Op == gojq.OpPipe:
		if p, ok = pathOf(q.Left, p); ok {
			return pathOf(q.Right, p)
		}
	}
	return nil, false
}

func termPath(t *gojq.Term, p path) (_ path, ok bool) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		ok = true
	case gojq.TermTypeIndex:
		p, ok = indexPath(t.Index, p)
	case gojq.TermTypeQuery:
		p, ok = pathOf(t.Query, p)
	case gojq.TermTypeFunc:
		p, ok = choicePath(t.Func, p)
	}
	for _, s := range t.SuffixList {
		switch {
		case !ok || s.Optional:
		case s.Iter:
			p = append(p, step{each: true, index: -1})
		default:
			p, ok = indexPath(s.Index, p)
		}
	}
	return p, ok
}

// indexPath adds .name, ."name", ["name"] or [3].
func indexPath(x *gojq.Index, p path) (path, bool) {
	name, known := x.Name, x.Name != ""
	if x.Str != nil {
		name, known = text(x.Str)
	}
	if known {
		return append(p, step{field: name, index: -1}), true
	}
	if x.IsSlice || x.Start == nil || x.Start.Term == nil {
		return nil, false
	}
	switch t := x.Start.Term; t.Type {
	case gojq.TermTypeString:
		name, known = text(t.Str)
		return append(p, step{field: name, index: -1}), known
	case gojq.TermTypeNumber:
		n, err := strconv.Atoi(t.Number)
		return append(p, step{index: n}), err == nil && 0 <= n && n < 100 // probes get as many elements
	}
	return nil, false
}

func text(s *gojq.String) (string, bool) { return s.Str, len(s.Queries) == 0 }

// choicePath adds select(.field == "text").
func choicePath(f *gojq.Func, p path) (path, bool) {
	if f.Name != "select" || len(f.Args) != 1 || f.Args[0].Op != gojq.OpEq {
		return nil, false
	}
	field, ok := pathOf(f.Args[0].Left, nil)
	value := f.Args[0].Right.Term
	if !ok || len(field) != 1 || field[0].field == "" || value == nil || value.Type != gojq.TermTypeString {
		return nil, false
	}
	s, ok := text(value.Str)
	return append(p, step{index: -1, where: map[string]string{field[0].field: s}}), ok
}

// hasMany reports whether the path can lead to several values.
func (p path) hasMany() bool { return slices.ContainsFunc(p, func(s step) bool { return s.each }) }

// fields are the field names at the beginning of the path, up to the first step that is not a
// field.
func (p path) fields() []string {
	var names []string
	for _, s := range p {
		if s.field == "" {
			break
		}
		names = append(names, s.field)
	}
	return names
}

// String prints the path in a canonical form, however it was written.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.field != "":
			b.WriteString("." + strconv.Quote(s.field))
		case s.each:
			b.WriteString("[]")
		case s.where != nil:
			for name, value := range s.where { // there is one
				b.WriteString("(" + strconv.Quote(name) + "==" + strconv.Quote(value) + ")")
			}
		default:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}

// get returns the first value that the path leads to.
func (p path) get(v any) (any, bool) {
	if len(p) == 0 {
		return v, v != nil
	}
	switch s, rest := p[0], p[1:]; {
	case s.field != "":
		m, _ := v.(map[string]any)
		return rest.get(m[s.field])
	case s.where != nil:
		if m, _ := v.(map[string]any); !s.matchesChoice(m) {
			return nil, false
		}
		return rest.get(v)
	default:
		list, _ := v.([]any)
		for i, item := range list {
			if s.each || s.index == i {
				if got, ok := rest.get(item); ok {
					return got, true
				}
			}
		}
		return nil, false
	}
}

func (s step) matchesChoice(m map[string]any) bool {
	for name, value := range s.where {
		if m[name] != value {
			return false
		}
	}
	return true
}

// set writes a value at the end of the path and creates missing fields. In a list it changes the
// element that the path selects, or adds one.
func (p path) set(obj map[string]any, value any) { p.with(obj, value) }

// with returns v with the value at the end of the path.
func (p path) with(v, value any) any {
	if len(p) == 0 {
		return value
	}
	switch s, rest := p[0], p[1:]; {
	case s.field != "":
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[s.field] = rest.with(m[s.field], value)
		return m
	case s.where != nil:
		return rest.with(s.withChoice(v), value)
	default:
		list, _ := v.([]any)
		at := max(s.index, 0)
		if s.each && len(rest) > 0 && rest[0].where != nil {
			at = rest[0].indexOfChoice(list)
		}
		for len(list) <= at {
			list = append(list, nil)
		}
		list[at] = rest.with(list[at], value)
		return list
	}
}

// withChoice returns v as an element that select() matches.
func (s step) withChoice(v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	for name, value := range s.where {
		m[name] = value
	}
	return m
}

// indexOfChoice is the index of the element that select() matches, or of a new element.
func (s step) indexOfChoice(list []any) int {
	for i, item := range list {
		if m, ok := item.(map[string]any); ok && s.matchesChoice(m) {
			return i
		}
	}
	return len(list)
}

// remove deletes the last field of a path of fields. If the path goes through a list, it deletes
// the list.
func (p path) remove(obj map[string]any) {
	names := p.fields()
	for i, name := range names {
		if i == len(names)-1 {
			delete(obj, name)
			return
		}
		next, ok := obj[name].(map[string]any)
		if !ok {
			return
		}
		obj = next
	}
}
