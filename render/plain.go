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
	rest   string // behind the current line
	line   string // without indentation and space at the end
	indent int
	kind   kindOfLine
	key    string // of an entry
	value  string // what stands behind it, "" if nothing
	end    bool
	depth  int
	words  *vocabulary
}

type kindOfLine uint8

const (
	other kindOfLine = iota
	item             // "- …"
	entry            // "key: …"
)

// readPlain returns the value of text, or false if the text is not plain.
func readPlain(text string, words *vocabulary) (any, bool) {
	p := &plain{rest: text, words: words}
	p.next()
	if p.end {
		return nil, false
	}
	v, ok := p.node()
	return v, ok && p.end
}

// next goes to the next line. A comment with characters that may end it is no comment, so that the text is not plain.
func (p *plain) next() {
	for p.rest != "" {
		line, rest := p.rest, ""
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line, rest = line[:end], line[end+1:]
		}
		p.rest = rest
		indent := spaces(line)
		if indent == len(line) || line[indent] == '#' && isPrinted(line) {
			continue
		}
		p.look(trimRight(line[indent:]), indent)
		return
	}
	p.end = true
}

// look makes a line, or the part of it that begins at the indent, the current one.
func (p *plain) look(line string, indent int) {
	p.line, p.indent, p.kind = line, indent, other
	if isItem(line) {
		p.kind = item
	} else if key, value, ok := cutKey(line); ok {
		p.kind, p.key, p.value = entry, key, value
	}
}

// node reads what begins at the current line.
func (p *plain) node() (any, bool) {
	if p.depth++; p.depth > maxPlainDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	switch p.kind {
	case item:
		return p.sequence(p.indent)
	case entry:
		return p.mapping(p.indent)
	default:
		return p.inline(p.line)
	}
}

func (p *plain) mapping(indent int) (any, bool) {
	m := map[string]any{}
	for !p.end && p.indent == indent {
		if p.kind != entry {
			return nil, false
		}
		key := p.words.text(p.key)
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
	if p.value != "" {
		return p.inline(p.value)
	}
	p.next()
	switch {
	case p.end || p.indent < indent:
		return nil, true
	case p.indent > indent:
		return p.collection()
	case p.kind == item:
		return p.node()
	}
	return nil, true
}

func (p *plain) sequence(indent int) (any, bool) {
	list := make([]any, 0, 4)
	for !p.end && p.indent == indent && p.kind == item {
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
	if len(p.line) > 1 {
		skipped := 1 + spaces(p.line[1:])
		p.look(p.line[skipped:], p.indent+skipped)
		return p.node()
	}
	p.next()
	if p.end || p.indent <= indent {
		return nil, true
	}
	return p.collection()
}

// collection leaves scalars on a line of their own to the real parser.
func (p *plain) collection() (any, bool) {
	if p.kind == other {
		return nil, false
	}
	return p.node()
}

// inline reads a scalar or flow collection that is all of s, the end of the current line.
func (p *plain) inline(s string) (v any, ok bool) {
	switch s[0] {
	case '"', '\'':
		text, rest, closed := cutQuoted(s)
		v, ok = p.words.value(text), closed && rest == ""
	case '[', '{':
		f := flow{rest: s, words: p.words}
		v, ok = f.value(p.depth)
		ok = ok && f.rest == ""
	default:
		v, ok = scalar(s, inBlock, p.words)
	}
	p.next()
	return v, ok
}

// spaces counts those that s begins with.
func spaces(s string) int {
	n := 0
	for n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

func trimRight(s string) string {
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func isPrinted(s string) bool {
	all, _ := scan(s)
	return all&printed != 0
}

func isItem(line string) bool { return line[0] == '-' && (len(line) == 1 || line[1] == ' ') }

// cutKey splits "key: rest" and "key:".
func cutKey(line string) (key, rest string, ok bool) {
	if line[0] == '"' || line[0] == '\'' {
		key, rest, ok = cutQuoted(line)
	} else {
		key, rest, ok = cutName(line)
	}
	if !ok || rest == "" || rest[0] != ':' || len(key) > maxPlainKey {
		return "", "", false
	}
	rest = rest[1:]
	skipped := spaces(rest)
	return key, rest[skipped:], rest == "" || skipped > 0
}

// cutName reads a plain key if it is a string for certain: no number begins like it and it is no word of YAML.
func cutName(line string) (name, rest string, ok bool) {
	if !isLetter(line[0]) && line[0] != '_' {
		return "", "", false
	}
	end := 1
	for end < len(line) && classes[line[end]]&inFlow != 0 {
		end++
	}
	name = line[:end]
	_, isWord := word(name)
	return name, line[end:], !isWord
}

// flow reads one-line flow collections and quoted scalars.
type flow struct {
	rest  string
	words *vocabulary
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
	case '"', '\'':
		var s string
		var ok bool
		s, f.rest, ok = cutQuoted(f.rest)
		return f.words.value(s), ok
	}
	end := strings.IndexAny(f.rest, ",]}")
	if end < 0 {
		return nil, false
	}
	s := strings.TrimRight(f.rest[:end], " ")
	f.rest = f.rest[end:]
	return scalar(s, inFlow, f.words)
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
	quoted := f.rest[0] == '"' || f.rest[0] == '\''
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
