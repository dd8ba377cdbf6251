package render

import (
	"strconv"
	"strings"
)

const (
	maxPlainDepth = 64
	maxPlainKey   = 512 // half of where YAML ends a key
)

// plain reads the YAML that templates usually render: block mappings and sequences of one-line scalars, in printable
// ASCII, with one-line flow collections. It recognises, it does not judge: whatever it is not certain about, faults
// included, is left to the real parser.
//
// It is a cursor over the lines that are neither blank nor comments. A collection reads lines as long as they have its
// indentation; a line that no collection takes is left over, and read then gives up.
type plain struct {
	size   int    // of the text
	rest   string // behind the current line
	line   line
	end    bool
	depth  int
	words  *vocabulary
	leaves leaves
}

// leaves read the scalars of a text.
type leaves interface {
	// leaf reads s, which begins at a byte of the text and is all of a scalar if it is one: quoted, or of the characters that are allowed.
	leaf(s string, at int, allowed class) (any, bool)
}

// readPlain returns the value of text, or false if the text is not plain.
func readPlain(text string, leaves leaves, words *vocabulary) (any, bool) {
	p := &plain{size: len(text), rest: text, words: words, leaves: leaves}
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
		begin := p.size - len(p.rest)
		var text string
		text, p.rest = cutLine(p.rest)
		if text, indent := content(text); text != "" {
			p.line.look(text, indent, begin+indent+len(text), p.words)
			return
		}
	}
	p.end = true
}

// node reads what begins at the current line.
func (p *plain) node() (any, bool) {
	if p.depth++; p.depth > maxPlainDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	switch p.line.kind {
	case item:
		return p.sequence(p.line.indent)
	case entry:
		return p.mapping(p.line.indent)
	default:
		return p.inline(p.line.text)
	}
}

func (p *plain) mapping(indent int) (any, bool) {
	m := map[string]any{}
	for !p.end && p.line.indent == indent {
		if p.line.kind != entry {
			return nil, false
		}
		key := p.line.key
		v, ok := p.content(indent)
		if !ok {
			return nil, false
		}
		m[key] = v
	}
	return m, true
}

// content reads what belongs to the key of the current line: on that line, or indented below it. A sequence may be at the
// indentation of the key.
func (p *plain) content(indent int) (any, bool) {
	if p.line.value != "" {
		return p.inline(p.line.value)
	}
	p.next()
	switch {
	case p.end || p.line.indent < indent:
		return nil, true
	case p.line.indent > indent:
		return p.collection()
	case p.line.kind == item:
		return p.node()
	}
	return nil, true
}

func (p *plain) sequence(indent int) (any, bool) {
	list := make([]any, 0, 4)
	for !p.end && p.line.indent == indent && p.line.kind == item {
		v, ok := p.element(indent)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// element reads one item of a sequence. A collection that begins behind the dash is indented as far as it stands there.
func (p *plain) element(indent int) (any, bool) {
	if len(p.line.text) > 1 {
		text, indent := p.line.cutDash()
		p.line.look(text, indent, p.line.end, p.words)
		return p.node()
	}
	p.next()
	if p.end || p.line.indent <= indent {
		return nil, true
	}
	return p.collection()
}

// collection leaves scalars on a line of their own to the real parser.
func (p *plain) collection() (any, bool) {
	if p.line.kind == other {
		return nil, false
	}
	return p.node()
}

// inline reads a scalar or flow collection that is all of s, the end of the current line.
func (p *plain) inline(s string) (v any, ok bool) {
	end := p.line.end
	if s[0] == '[' || s[0] == '{' {
		f := flow{rest: s, end: end, words: p.words, leaves: p.leaves}
		v, ok = f.value(p.depth)
		ok = ok && f.rest == ""
	} else {
		v, ok = p.leaves.leaf(s, end-len(s), inBlock)
	}
	p.next()
	return v, ok
}

// flow reads one-line flow collections and the scalars in them.
type flow struct {
	rest   string
	end    int // of the line in the whole text
	words  *vocabulary
	leaves leaves
}

func (f *flow) value(depth int) (any, bool) {
	if f.rest == "" || depth > maxPlainDepth {
		return nil, false
	}
	switch f.rest[0] {
	case '[':
		return f.list(depth + 1)
	case '{':
		return f.object(depth + 1)
	}
	s, ok := f.scalar()
	if !ok {
		return nil, false
	}
	at := f.end - len(f.rest)
	f.rest = f.rest[len(s):]
	return f.leaves.leaf(s, at, inFlow)
}

// scalar returns the text of the one that comes next.
func (f *flow) scalar() (s string, ok bool) {
	if isQuote(f.rest[0]) {
		_, rest, ok := cutQuoted(f.rest)
		return f.rest[:len(f.rest)-len(rest)], ok
	}
	end := strings.IndexAny(f.rest, ",]}")
	if end < 0 {
		return "", false
	}
	return trimRight(f.rest[:end]), true
}

func (f *flow) list(depth int) (any, bool) {
	list := []any{}
	for more := f.open(']'); more; more = f.comma() {
		v, ok := f.value(depth)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, f.close(']')
}

func (f *flow) object(depth int) (any, bool) {
	m := map[string]any{}
	for more := f.open('}'); more; more = f.comma() {
		key, ok := f.key()
		if !ok {
			return nil, false
		}
		if m[f.words.text(key)], ok = f.value(depth); !ok {
			return nil, false
		}
	}
	return m, f.close('}')
}

// key reads a key and its colon. One without quotes needs space behind the colon, else that belongs to the key.
func (f *flow) key() (key string, ok bool) {
	if f.rest == "" {
		return "", false
	}
	quoted := isQuote(f.rest[0])
	if quoted {
		key, f.rest, ok = cutQuoted(f.rest)
	} else {
		key, f.rest, ok = cutName(f.rest)
	}
	rest, found := strings.CutPrefix(f.rest, ":")
	if !ok || !found || len(key) > maxPlainKey || !quoted && !strings.HasPrefix(rest, " ") {
		return "", false
	}
	f.rest = strings.TrimLeft(rest, " ")
	return key, true
}

// open steps into a collection and reports whether it has an element.
func (f *flow) open(end byte) bool {
	f.rest = strings.TrimLeft(f.rest[1:], " ")
	return f.rest != "" && f.rest[0] != end
}

// comma reports whether another element follows.
func (f *flow) comma() bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(f.rest, " "), ",")
	if ok {
		f.rest = strings.TrimLeft(rest, " ")
	}
	return ok
}

func (f *flow) close(end byte) bool {
	f.rest = strings.TrimLeft(f.rest, " ")
	if f.rest == "" || f.rest[0] != end {
		return false
	}
	f.rest = f.rest[1:]
	return true
}

// cutQuoted reads a quoted scalar at the beginning of s.
func cutQuoted(s string) (text, rest string, ok bool) {
	quote, body := s[0], s[1:]
	end := strings.IndexByte(body, quote)
	if end < 0 || !isPrinted(body[:end]) {
		return "", "", false
	}
	text, rest = body[:end], body[end+1:]
	if quote == '\'' {
		return text, rest, rest == "" || rest[0] != '\''
	}
	if strings.IndexByte(text, '\\') < 0 {
		return text, rest, true
	}
	return cutEscaped(s)
}

// cutEscaped reads a double-quoted scalar if Go reads it as YAML does, which is so for these escapes.
func cutEscaped(s string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || !isPrinted(quoted) {
		return "", "", false
	}
	for i := 1; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; strings.IndexByte(`"\ntu`, quoted[i]) < 0 {
			return "", "", false
		}
	}
	text, err = strconv.Unquote(quoted)
	return text, s[len(quoted):], err == nil
}
