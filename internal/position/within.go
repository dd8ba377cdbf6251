package position

import (
	"bytes"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// within finds the place of the byte at offset in the value of a scalar.
//
// YAML transforms the text of a scalar (indentation, folding, escapes), so within walks both texts
// in parallel. White space of the value matches any run of white space in the text. An escape
// matches one character. Text that the value does not have, such as quotes or a second single
// quote, is skipped.
func (d *Document) within(n *yamlv3.Node, offset int) Position {
	at, double := d.contentOf(n), n.Style&yamlv3.DoubleQuotedStyle != 0
	value := n.Value[:min(offset, len(n.Value))]
	for value != "" && at < len(d.text) {
		if rest := strings.TrimLeft(value, " \n\t\r"); rest != value {
			at, value = skipBreak(d.text, at), rest
			continue
		}
		r, size := utf8.DecodeRuneInString(value)
		at, value = skipRune(d.text, at, r, double), value[size:]
	}
	if offset < len(n.Value) {
		at = skipTo(d.text, at, n.Value[offset])
	}
	p := chunk{text: d.text, start: Position{Line: 1, Column: 1}}.position(min(at, len(d.text)))
	return d.at(p.Line, p.Column)
}

// escapes are the lengths of escapes in double quotes; others have two bytes.
var escapes = map[byte]int{'x': 4, 'u': 6, 'U': 10}

// skipRune passes the text of one character.
func skipRune(text []byte, at int, r rune, double bool) int {
	if double && bytes.HasPrefix(text[at:], []byte("\\\n")) { // an escaped line break has no character in the value
		at = min(skipBreak(text, at), len(text)-1)
	}
	if double && text[at] == '\\' && at+1 < len(text) {
		return min(at+max(escapes[text[at+1]], 2), len(text))
	}
	const near = 8 // quotes, a line break and some indentation
	if next := bytes.IndexRune(text[at:min(at+near, len(text))], r); next >= 0 {
		return at + next + utf8.RuneLen(r)
	}
	return min(at+1, len(text))
}

// contentOf is the offset in the text at which the content of a scalar begins: after the quote, or
// after the header line of a block.
func (d *Document) contentOf(n *yamlv3.Node) int {
	at := lineStart(d.text, n.Line) + n.Column - 1
	switch {
	case n.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0:
		return lineStart(d.text, n.Line+1)
	case n.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle) != 0:
		return min(at+1, len(d.text))
	default:
		return min(at, len(d.text))
	}
}

// lineStart is the offset of the first byte of a line, counted from 1.
func lineStart(text []byte, line int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipBreak passes one run of white space, written out or escaped.
func skipBreak(text []byte, at int) int {
	for at < len(text) {
		switch {
		case isSpace(text[at]):
			at++
		case text[at] == '\\' && at+1 < len(text) && bytes.IndexByte([]byte("ntr\n"), text[at+1]) >= 0:
			at += 2
		default:
			return at
		}
	}
	return at
}

// skipTo passes indentation and escapes up to the byte c, if it is near.
func skipTo(text []byte, at int, c byte) int {
	for i := at; i < len(text) && (isSpace(text[i]) || text[i] == '\\' || text[i] == '\'' || text[i] == c); i++ {
		if text[i] == c {
			return i
		}
	}
	return at
}
