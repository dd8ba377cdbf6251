package render

import "strings"

// A line of plain YAML.
type line struct {
	text   string // without indentation and space at the end
	indent int
	end    int // in the whole text
	kind   kindOfLine
	key    string // of an entry
	value  string // what stands behind it, "" if nothing
}

type kindOfLine uint8

const (
	other kindOfLine = iota
	item             // "- …"
	entry            // "key: …"
)

// look takes a line apart.
func (l *line) look(text string, indent, end int, words *vocabulary) {
	*l = line{text: text, indent: indent, end: end}
	if isItem(text) {
		l.kind = item
	} else if key, value, ok := cutKey(text); ok {
		l.kind, l.key, l.value = entry, words.text(key), value
	}
}

// cutDash returns what is behind the dash, and where.
func (l *line) cutDash() (text string, indent int) {
	skipped := 1 + spaces(l.text[1:])
	return l.text[skipped:], l.indent + skipped
}

// cutLine returns the first line without its end, and what is behind that.
func cutLine(text string) (line, rest string) {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return text[:end], text[end+1:]
	}
	return text, ""
}

// content is what a line has beside space; "" if that is nothing or a comment. A comment with characters that may end it
// is no comment, so that the text is not plain.
func content(line string) (text string, indent int) {
	indent = spaces(line)
	if indent == len(line) || line[indent] == '#' && isPrinted(line) {
		return "", indent
	}
	return trimRight(line[indent:]), indent
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
	if isQuote(line[0]) {
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
