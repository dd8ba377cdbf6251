package fastyaml

import "strings"

const (
	maxDepth = 64
	maxKey   = 512 // half of the length at which YAML ends a key
)

// plain is the plain parser: a cursor over the lines that are neither blank nor comments. A collection reads lines as
// long as they have its indentation. A line that no collection takes is left over, and then the text is not plain.
type plain struct {
	rest  string // after the current line
	line  line
	end   bool // there is no current line
	depth int
}

// parsePlain returns the value of text, or false if the text is not plain.
func parsePlain(text string) (any, bool) {
	p := &plain{rest: text}
	p.next()
	if p.end {
		return nil, false
	}
	v, ok := p.node()
	return v, ok && p.end
}

// next goes to the next line.
func (p *plain) next() {
	for p.rest != "" {
		var text string
		text, p.rest, _ = strings.Cut(p.rest, "\n")
		if indent := countSpaces(text); !isEmpty(text[indent:]) {
			p.line = newLine(trimSpaces(text[indent:]), indent)
			return
		}
	}
	p.end = true
}

// node reads what begins at the current line.
func (p *plain) node() (any, bool) {
	if p.depth++; p.depth > maxDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	switch p.line.kind {
	case itemLine:
		return p.sequence(p.line.indent)
	case entryLine:
		return p.mapping(p.line.indent)
	default:
		return p.inline(p.line.text)
	}
}

func (p *plain) mapping(indent int) (any, bool) {
	m := map[string]any{}
	for !p.end && p.line.indent == indent {
		if p.line.kind != entryLine {
			return nil, false
		}
		key := p.line.key
		v, ok := p.entry(indent)
		if !ok {
			return nil, false
		}
		m[key] = v
	}
	return m, true
}

// entry reads what belongs to the key of the current line: on that line, or indented below it. A sequence may be at
// the indentation of the key.
func (p *plain) entry(indent int) (any, bool) {
	if p.line.value != "" {
		return p.inline(p.line.value)
	}
	p.next()
	switch {
	case p.end || p.line.indent < indent:
		return nil, true
	case p.line.indent > indent:
		return p.collection()
	case p.line.kind == itemLine:
		return p.node()
	}
	return nil, true
}

func (p *plain) sequence(indent int) (any, bool) {
	list := make([]any, 0, 4)
	for !p.end && p.line.indent == indent && p.line.kind == itemLine {
		v, ok := p.item(indent)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// item reads one item of a sequence. A collection that begins after the dash is indented as far as it stands there.
func (p *plain) item(indent int) (any, bool) {
	if text := p.line.text[1:]; text != "" {
		skipped := countSpaces(text)
		p.line = newLine(text[skipped:], indent+1+skipped)
		return p.node()
	}
	p.next()
	if p.end || p.line.indent <= indent {
		return nil, true
	}
	return p.collection()
}

// collection leaves scalars on a line of their own to the other parser.
func (p *plain) collection() (any, bool) {
	if p.line.kind == otherLine {
		return nil, false
	}
	return p.node()
}

// inline reads a scalar or flow collection that is all of s, the end of the current line.
func (p *plain) inline(s string) (v any, ok bool) {
	if s[0] == '[' || s[0] == '{' {
		f := flow{rest: s}
		v, ok = f.value(p.depth)
		ok = ok && f.rest == ""
	} else {
		v, ok = scalar(s, inBlock)
	}
	p.next()
	return v, ok
}
