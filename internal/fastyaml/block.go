package fastyaml

import "strings"

const (
	maxDepth = 64
	maxKey   = 512 // half of the length at which YAML ends a key
)

// plain is the plain parser: a cursor over the lines that are neither blank nor comments. A
// collection reads lines as long as they have its indentation. A line that no collection takes is
// left over, and then the text is not plain.
type plain struct {
	strings *stringTable
	rest    string // after the current line
	line    string // the current one, without spaces at both ends
	indent  int
	end     bool // there is no current line
	depth   int
}

// parsePlain returns the value of text, or false if the text is not plain.
func parsePlain(text string, strings *stringTable) (any, bool) {
	p := &plain{rest: text, strings: strings}
	p.next()
	if p.end {
		return nil, false
	}
	v, ok := p.node()
	return v, ok && p.end
}

// next goes to the next line. A comment with characters that may end it is taken for content, so
// that it is not plain.
func (p *plain) next() {
	for p.rest != "" {
		var text string
		text, p.rest, _ = strings.Cut(p.rest, "\n")
		p.indent = countSpaces(text)
		if text = text[p.indent:]; text != "" && (text[0] != '#' || !isPrintable(text)) {
			p.line = trimSpaces(text)
			return
		}
	}
	p.end = true
}

// node reads what begins at the current line.
func (p *plain) node() (v any, ok bool) {
	if p.depth++; p.depth > maxDepth {
		return nil, false
	}
	if isItem(p.line) {
		v, ok = p.sequence(p.indent)
	} else if _, _, isEntry := cutKey(p.line); isEntry {
		v, ok = p.mapping(p.indent)
	} else {
		v, ok = p.inline(p.line)
	}
	p.depth--
	return v, ok
}

func (p *plain) mapping(indent int) (any, bool) {
	m := map[string]any{}
	for !p.end && p.indent == indent {
		key, text, ok := cutKey(p.line)
		if !ok {
			return nil, false
		}
		var v any
		if text != "" {
			v, ok = p.inline(text)
		} else {
			v, ok = p.below(indent, true)
		}
		if !ok {
			return nil, false
		}
		m[p.strings.get(key).(string)] = v
	}
	return m, true
}

func (p *plain) sequence(indent int) (any, bool) {
	list := make([]any, 0, 4)
	for !p.end && p.indent == indent && isItem(p.line) {
		v, ok := p.item(indent)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// item reads one item of a sequence. A collection that begins after the dash is indented as far as
// it stands there.
func (p *plain) item(indent int) (any, bool) {
	text := p.line[1:]
	if text == "" {
		return p.below(indent, false)
	}
	skipped := countSpaces(text)
	p.line, p.indent = text[skipped:], indent+1+skipped
	return p.node()
}

// below reads the collection below a key or dash, or null if there is none. A sequence may be at
// the indentation of the key. Scalars on a line of their own are left to the other parser.
func (p *plain) below(indent int, isKey bool) (any, bool) {
	p.next()
	if p.end || p.indent < indent || p.indent == indent && !(isKey && isItem(p.line)) {
		return nil, true
	}
	if _, _, isEntry := cutKey(p.line); !isEntry && !isItem(p.line) {
		return nil, false
	}
	return p.node()
}

// inline reads a scalar or empty collection that is all of s, the end of the current line.
func (p *plain) inline(s string) (v any, ok bool) {
	v, ok = p.strings.scalar(s)
	p.next()
	return v, ok
}

func isItem(s string) bool { return s[0] == '-' && (len(s) == 1 || s[1] == ' ') }

// cutKey splits "key: rest" and "key:".
func cutKey(s string) (key, rest string, ok bool) {
	if isQuote(s[0]) {
		key, rest, ok = cutQuoted(s)
	} else {
		key, rest, ok = cutName(s)
	}
	if !ok || rest == "" || rest[0] != ':' || len(key) > maxKey {
		return "", "", false
	}
	rest = rest[1:]
	skipped := countSpaces(rest)
	return key, rest[skipped:], rest == "" || skipped > 0
}

// cutName reads a key without quotes if it is a string for certain: no number begins like it and it
// is no word of YAML.
func cutName(s string) (name, rest string, ok bool) {
	if !isLetter(s[0]) && s[0] != '_' {
		return "", "", false
	}
	end := 1
	for end < len(s) && classes[s[end]]&inName != 0 {
		end++
	}
	_, isWord := word(s[:end])
	return s[:end], s[end:], !isWord
}

func countSpaces(s string) int {
	n := 0
	for n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

func trimSpaces(s string) string {
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}
