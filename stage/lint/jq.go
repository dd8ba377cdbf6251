package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// A path is a jq program that follows fields from the object.
type path []step

// A step of a path is one of: a field, each element of a list, the element at an index, a choice of elements.
type step struct {
	field string
	index int // -1 unless it is an index
	each  bool
	where map[string]string // select(.type == "Ready")
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

// many reports whether the path can lead to several values.
func (p path) hasMany() bool { return slices.ContainsFunc(p, func(s step) bool { return s.each }) }

// fields are the names along the path up to the first that is none.
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

// String prints the path in one way, however it was written.
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

// A subtraction is a path that goes on behind a hyphen without a space, as names of labels do.
type subtraction struct {
	left, name string // .metadata.labels.job and type
	offset     int    // of the hyphen
}

// subtractionsIn finds what looks like the name of a field but is parsed as a difference.
func subtractionsIn(source string) []subtraction {
	q, err := gojq.Parse(source)
	if err != nil {
		return nil
	}
	var found []subtraction
	differences(q, func(left *gojq.Query, name string) {
		s := subtraction{left: left.String(), name: name}
		if s.offset = strings.Index(source, lastName(left)+"-"+name); s.offset >= 0 {
			s.offset += len(lastName(left))
			found = append(found, s)
		}
	})
	return found
}

// differences visits every difference of a path to a named field and a function without arguments.
func differences(q *gojq.Query, visit func(left *gojq.Query, name string)) {
	if q == nil {
		return
	}
	differences(q.Left, visit)
	differences(q.Right, visit)
	if q.Op != gojq.OpSub {
		return
	}
	right := q.Right.Term
	if lastName(q.Left) != "" && right != nil && right.Type == gojq.TermTypeFunc && len(right.Func.Args) == 0 && right.Func.Name[0] != '$' {
		visit(q.Left, right.Func.Name)
	}
}

// lastName is the field that a path ends at; "" if it is no path, or ends otherwise. Of a-b-c the left side is a difference itself.
func lastName(q *gojq.Query) string {
	if q.Op == gojq.OpSub && q.Right.Term != nil && q.Right.Term.Func != nil {
		return q.Right.Term.Func.Name
	}
	p, ok := pathOf(q, nil)
	if !ok || len(p) == 0 {
		return ""
	}
	return p[len(p)-1].field
}

// numeric are the functions of jq that return numbers.
var numericFunctions = []string{"tonumber", "length", "floor", "ceil", "round", "sqrt", "fabs", "now", "mktime", "fromdate", "fromdateiso8601", "utf8bytelength"}

// isNumeric reports whether a jq program can only give numbers, as far as that can be seen.
func isNumeric(q *gojq.Query) bool {
	switch {
	case q.Term == nil:
		if q.Op == gojq.OpPipe {
			return isNumeric(q.Right)
		}
		return q.Op == gojq.OpSub || slices.Contains([]gojq.Operator{gojq.OpMul, gojq.OpDiv, gojq.OpMod}, q.Op) && isNumeric(q.Right)
	case len(q.Term.SuffixList) > 0:
		return false
	case q.Term.Func != nil:
		return slices.Contains(numericFunctions, q.Term.Func.Name)
	default:
		return q.Term.Type == gojq.TermTypeNumber
	}
}

// calls reports whether an expression names a function, as far as its text shows it.
func mentionsFunction(source, name string) bool {
	for i := 0; ; {
		at := strings.Index(source[i:], name)
		if at < 0 {
			return false
		}
		at += i
		end := at + len(name)
		if (at == 0 || !isWord(source[at-1]) && source[at-1] != '.' && source[at-1] != '$') && (end == len(source) || !isWord(source[end])) {
			return true
		}
		i = end
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
