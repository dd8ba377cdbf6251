package position

import (
	"errors"
	"strings"
)

// A Text is a YAML document in a string field, such as the value of an annotation.
type Text struct {
	doc  *Document
	text string
}

// ParseText reads a text. It must be one YAML document.
func ParseText(text string) (*Text, *Error) {
	docs, faults := Parse("", []byte(text))
	switch {
	case len(faults) > 0:
		return nil, &Error{Offset: offsetOf(text, faults[0].Position), Err: faults[0].Err}
	case len(docs) != 1:
		return nil, &Error{Offset: -1, Err: errors.New("want one YAML document")}
	}
	return &Text{doc: docs[0], text: text}, nil
}

// Decode reads the text into a Go value, as [Document.Decode] does. Paths are relative to the text,
// offsets are bytes of it.
func (t *Text) Decode(into any) []*Error {
	faults := append(t.doc.Decode(into), t.doc.Duplicates()...)
	for i, f := range faults {
		faults[i] = t.Locate(f)
	}
	return faults
}

// Locate returns a fault with its offset in the whole text instead of in its field.
func (t *Text) Locate(e *Error) *Error {
	located := *e
	located.Offset = offsetOf(t.text, t.doc.Locate(e))
	return &located
}

// offsetOf returns the offset of a position; -1 for an unknown position.
func offsetOf(text string, p Position) int {
	if !p.IsValid() {
		return -1
	}
	at := 0
	for range p.Line - 1 {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return at
		}
		at += next + 1
	}
	return min(at+max(p.Column-1, 0), len(text))
}
