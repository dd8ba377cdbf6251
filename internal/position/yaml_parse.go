package position

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v2"
)

// ErrTooLarge is what errors.Is finds in the error for a value that is larger than the limit.
var ErrTooLarge = errors.New("limit exceeded")

// A YAMLError is a text that is no YAML.
type YAMLError struct {
	Line int    // from 1; 0 if the parser does not name one
	What string // is wrong
	Err  error  // of the YAML parser
}

// Error is the text of the YAML parser.
func (e *YAMLError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *YAMLError) Unwrap() error { return e.Err }

// newYAMLError finds the line in the text of the error. A fault in a text of one line is in that.
func newYAMLError(text string, err error) *YAMLError {
	e := &YAMLError{What: strings.TrimPrefix(err.Error(), "yaml: "), Err: err}
	if _, scan := fmt.Sscanf(e.What, "line %d:", &e.Line); scan == nil {
		_, e.What, _ = strings.Cut(e.What, ": ")
	} else if !strings.Contains(text, "\n") {
		e.Line = 1
	}
	return e
}

// A YAMLParser reads YAML 1.1 as sigs.k8s.io/yaml would turn it into JSON, and gives JSON values: nil,
// bool, string, int64, float64, []any and map[string]any. The zero value is ready for use; it is not safe
// for concurrent use.
//
// It has two ways to read. The plain one reads what programs usually write: block mappings and
// sequences of one-line scalars, in printable ASCII, with empty flow collections. It reports no
// faults. Every text that it does not know, faulty ones included, is read by the parser of
// sigs.k8s.io/yaml, which is about ten times slower. The result depends only on the text. Strings
// of its values share no memory with the text. Short strings are shared with other values of the
// same YAMLParser.
//
//	sigs.k8s.io/yaml does                       YAMLParser does             pinned by
//	two keys with one spelling (1, "1"): either an error                    TestFaults
//	aliases make values of any size             an error beyond the limit   TestHostileTexts
//	a text without a document is null           no value, ok is false       TestParse
type YAMLParser struct{ strings stringTable }

// Parse reads the first document of text; ok is false without a document. A value of more than
// limit bytes is an error, because aliases can make a large value from a short text. Syntax errors
// are *YAMLError.
func (p *YAMLParser) Parse(text string, limit int) (v any, ok bool, err error) {
	if isBlank(text) {
		return nil, false, nil
	}
	if v, ok := parsePlain(text, &p.strings); ok {
		return v, true, nil
	}
	v, err = ParseYAML(text, limit)
	return v, err == nil, err
}

// ParseYAML reads the first document of any text with the parser of sigs.k8s.io/yaml. It returns
// nil for a text without a document.
func ParseYAML(text string, limit int) (any, error) {
	doc, err := decode(text)
	if err != nil {
		return nil, newYAMLError(text, err)
	}
	c := converter{limit: limit, left: limit}
	v, err := c.value(doc)
	if err != nil {
		return nil, fmt.Errorf("yaml: %w", err)
	}
	return v, nil
}

// decode returns a panic of the decoder as an error: some texts make it panic.
func decode(text string) (doc any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	err = yaml.Unmarshal([]byte(text), &doc)
	return doc, err
}

// otherBreaks are the characters other than "\n" that end a line of YAML, and so end a comment.
const otherBreaks = "\r\u0085\u2028\u2029"

// isBlank reports whether the text has nothing but space, comments and document markers.
func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		comment := strings.HasPrefix(content, "#") && !strings.ContainsAny(content, otherBreaks)
		marker := strings.HasPrefix(line, content) && (content == "---" || content == "...")
		if content != "" && !comment && !marker {
			return false
		}
	}
	return true
}

// stringTable shares strings, because texts of one kind have mostly the same keys and values. It
// has a fixed number of places, each for two strings; a new string replaces the older of them. With one
// string in a place, two strings of one text that meet there would replace each other in each text.
type stringTable [128][2]any

const longestKept = 64

// get returns a copy of s that shares no memory with it. It is an any already, so that the caller
// need not allocate one.
func (t *stringTable) get(s string) any {
	n := len(s)
	if n == 0 || n > longestKept {
		return strings.Clone(s)
	}
	place := &t[placeOf(s)%uint32(len(t))]
	switch {
	case place[0] == any(s):
		return place[0]
	case place[1] == any(s):
		return place[1]
	}
	place[1] = place[0]
	place[0] = strings.Clone(s)
	return place[0]
}

// placeOf is a hash of the length and of five bytes of a string.
func placeOf(s string) uint32 {
	n := len(s)
	h := uint32(n)
	for _, at := range [...]int{0, n / 4, n / 2, n - 1 - n/4, n - 1} {
		h = h*31 + uint32(s[at])
	}
	return h * 2654435761 >> 16
}
