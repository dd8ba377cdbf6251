package position

import "strings"

const (
	maxDepth = 64
	maxKey   = 512 // half of the length at which YAML ends a key
)

// plain is the plain parser. It moves over the lines, without blank lines and comments. A
// collection reads the lines that have its indentation. If a line remains that no collection has
// read, the text is not plain.
type plain struct {
	strings *stringTable
	rest    string // after the current line
	line    string // the current one, without spaces at both ends
	indent  int
	end     bool // after the last line
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

// next goes to the next line. A comment that is not printable ASCII may contain a line break of
// YAML. It is treated as content, which makes the text not plain.
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

// item reads one item of a sequence. The indentation of a collection that begins after the dash is
// its column.
func (p *plain) item(indent int) (any, bool) {
	text := p.line[1:]
	if text == "" {
		return p.below(indent, false)
	}
	skipped := countSpaces(text)
	p.line, p.indent = text[skipped:], indent+1+skipped
	return p.node()
}

// below reads the collection on the lines after a key or dash; without lines the value is null. A
// sequence can have the indentation of its key. A scalar on a separate line is not plain.
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

// cutName reads a key without quotes. It reports false if YAML could read the key as a number, a
// boolean or null.
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
