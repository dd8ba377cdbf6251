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
	end    bool
	depth  int
}

// readPlain returns the value of text, or false if the text is not plain.
func readPlain(text string) (any, bool) {
	if !printable(text) {
		return nil, false
	}
	p := &plain{rest: text}
	p.next()
	if p.end {
		return nil, false
	}
	v, ok := p.node()
	return v, ok && p.end
}

func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n') || c > '~' {
			return false
		}
	}
	return true
}

func (p *plain) next() {
	for p.rest != "" {
		var line string
		line, p.rest, _ = strings.Cut(p.rest, "\n")
		p.line = strings.Trim(line, " ")
		if p.line != "" && p.line[0] != '#' {
			p.indent = strings.IndexByte(line, p.line[0])
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
	if isItem(p.line) {
		return p.sequence(p.indent)
	}
	if _, _, ok := cutKey(p.line); ok {
		return p.mapping(p.indent)
	}
	return p.inline(p.line)
}

func (p *plain) mapping(indent int) (any, bool) {
	m := map[string]any{}
	for !p.end && p.indent == indent {
		key, rest, ok := cutKey(p.line)
		if !ok {
			return nil, false
		}
		if m[key], ok = p.value(rest, indent); !ok {
			return nil, false
		}
	}
	return m, true
}

// value reads what stands behind a key: on its line, or indented below it. A sequence may be at the indentation of the key.
func (p *plain) value(rest string, indent int) (any, bool) {
	if rest != "" {
		return p.inline(rest)
	}
	p.next()
	switch {
	case p.end || p.indent < indent:
		return nil, true
	case p.indent > indent:
		return p.collection()
	case isItem(p.line):
		return p.node()
	}
	return nil, true
}

func (p *plain) sequence(indent int) (any, bool) {
	var list []any
	for !p.end && p.indent == indent && isItem(p.line) {
		v, ok := p.item(indent)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// item reads one entry of a sequence. A collection that begins behind the dash is indented as far as it stands there.
func (p *plain) item(indent int) (any, bool) {
	rest := strings.TrimLeft(p.line[1:], " ")
	if rest != "" {
		p.indent += len(p.line) - len(rest)
		p.line = rest
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
	if _, _, key := cutKey(p.line); !key && !isItem(p.line) {
		return nil, false
	}
	return p.node()
}

// inline reads a scalar or flow collection that is all of s, the end of the current line.
func (p *plain) inline(s string) (any, bool) {
	var v any
	var ok bool
	switch s[0] {
	case '"', '\'', '[', '{':
		f := flow{rest: s}
		v, ok = f.value(p.depth)
		ok = ok && f.rest == ""
	default:
		v, ok = scalar(s, inBlock)
	}
	p.next()
	return v, ok
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

// cutKey splits "key: rest" and "key:".
func cutKey(line string) (key, rest string, ok bool) {
	if line[0] == '"' || line[0] == '\'' {
		key, rest, ok = cutQuoted(line)
		if !ok || rest == "" || rest[0] != ':' {
			return "", "", false
		}
		rest = rest[1:]
	} else {
		key, rest, ok = strings.Cut(line, ":")
		if !ok || !isName(key) {
			return "", "", false
		}
	}
	if rest != "" && rest[0] != ' ' || len(key) > maxPlainKey {
		return "", "", false
	}
	return key, strings.TrimLeft(rest, " "), true
}

// isName reports whether a plain key is a string for certain: no number begins like it and it is no word of YAML.
func isName(key string) bool {
	if key == "" || !isLetter(key[0]) && key[0] != '_' || !all(key, inFlow) {
		return false
	}
	_, word := words[key]
	return !word
}

// flow reads one-line flow collections and quoted scalars.
type flow struct{ rest string }

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
		return s, ok
	}
	end := strings.IndexAny(f.rest, ",]}")
	if end < 0 {
		return nil, false
	}
	s := strings.TrimRight(f.rest[:end], " ")
	f.rest = f.rest[end:]
	return scalar(s, inFlow)
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
		if m[key], ok = f.value(depth); !ok {
			return nil, false
		}
	}
	return m, f.close('}')
}

// key reads a key and its colon. One without quotes needs space behind the colon, else that belongs to the key.
func (f *flow) key() (key string, ok bool) {
	if f.rest != "" && (f.rest[0] == '"' || f.rest[0] == '\'') {
		key, f.rest, ok = cutQuoted(f.rest)
		ok = ok && strings.HasPrefix(f.rest, ":")
	} else {
		key, _, ok = strings.Cut(f.rest, ": ")
		ok = ok && isName(key)
		f.rest = f.rest[len(key):]
	}
	if !ok || len(key) > maxPlainKey {
		return "", false
	}
	f.rest = strings.TrimLeft(f.rest[1:], " ")
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
	if end < 0 {
		return "", "", false
	}
	text, rest = body[:end], body[end+1:]
	if quote == '\'' {
		return text, rest, !strings.HasPrefix(rest, "'")
	}
	if strings.IndexByte(text, '\\') < 0 {
		return text, rest, true
	}
	return cutEscaped(s)
}

// cutEscaped reads a double-quoted scalar if Go reads it as YAML does, which is so for these escapes.
func cutEscaped(s string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
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
