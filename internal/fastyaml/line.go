package fastyaml

// A line that is neither blank nor a comment.
type line struct {
	text       string // without spaces at both ends
	indent     int
	kind       lineKind
	key, value string // of an entryLine; the value is "" if nothing stands after the colon
}

type lineKind uint8

const (
	otherLine lineKind = iota
	itemLine           // "- …"
	entryLine          // "key: …"
)

func newLine(text string, indent int) line {
	if text[0] == '-' && (len(text) == 1 || text[1] == ' ') {
		return line{text: text, indent: indent, kind: itemLine}
	}
	if key, value, ok := cutKey(text); ok {
		return line{text: text, indent: indent, kind: entryLine, key: key, value: value}
	}
	return line{text: text, indent: indent}
}

// isEmpty reports whether a line has nothing beside its indentation, or a comment. A comment with characters that may
// end it is taken for content, so that the text is not plain.
func isEmpty(s string) bool { return s == "" || s[0] == '#' && isPrintable(s) }

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

// cutName reads a key without quotes if it is a string for certain: no number begins like it and it is no word of YAML.
func cutName(s string) (name, rest string, ok bool) {
	if !isLetter(s[0]) && s[0] != '_' {
		return "", "", false
	}
	end := 1
	for end < len(s) && classes[s[end]]&inFlow != 0 {
		end++
	}
	_, isWord := word(s[:end])
	return s[:end], s[end:], !isWord
}
