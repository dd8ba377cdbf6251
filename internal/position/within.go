package position

import (
	"bytes"

	yamlv3 "go.yaml.in/yaml/v3"
)

// within finds the place of the byte at offset in the value of a scalar.
//
// YAML transforms the text of a scalar (indentation, folding, escapes), so the two texts are walked side by side: white space
// of the value stands for any run of white space in the text, and text that the value does not have (quotes,
// backslashes, a second single quote) is skipped.
func (d *Document) within(n *yamlv3.Node, offset int) Position {
	at := d.contentOf(n)
	value := n.Value[:min(offset, len(n.Value))]
	for i := 0; i < len(value) && at < len(d.text); i++ {
		if isSpace(value[i]) {
			at = skipBreak(d.text, at)
			for i+1 < len(value) && isSpace(value[i+1]) {
				i++
			}
			continue
		}
		if next := bytes.IndexByte(d.text[at:], value[i]); next >= 0 {
			at += next + 1
		}
	}
	if offset < len(n.Value) {
		at = skipTo(d.text, at, n.Value[offset])
	}
	p := chunk{text: d.text, start: Position{Line: 1, Column: 1}}.position(min(at, len(d.text)))
	return d.at(p.Line, p.Column)
}

// contentOf is the offset in the text at which the content of a scalar begins: after the quote, or after the header line of a block.
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
