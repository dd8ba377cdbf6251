// Package fastyaml reads YAML 1.1 and returns JSON values, the same as sigs.k8s.io/yaml: nil, bool,
// string, int64, float64, []any and map[string]any.
//
// It has two parsers. The plain parser reads usual texts of programs: block mappings and sequences
// of one-line scalars, in printable ASCII, with empty flow collections. It reports no faults. The
// parser of sigs.k8s.io/yaml, which is about ten times slower, reads every other text and every
// faulty text.
//
// # Determinism
//
// The result of Parse depends only on its arguments. Strings of its values share no memory with the
// text. Short strings are shared with other values of the same Parser.
//
// # Compatibility
//
//	sigs.k8s.io/yaml does                       Parse does                  pinned by
//	two keys with one spelling (1, "1"): either an error                    TestFaults
//	aliases make values of any size             an error beyond the limit   TestHostileTexts
//	a text without a document is null           no value, ok is false       TestParse
package fastyaml

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v2"
)

// ErrLimit is wrapped by the error for a value that is larger than the limit.
var ErrLimit = errors.New("limit exceeded")

// SyntaxError is the error for a text that is not YAML.
type SyntaxError struct {
	Line int    // from 1; 0 if the parser does not name one
	What string // is wrong
	Err  error  // of the YAML parser
}

// Error is the text of the YAML parser.
func (e *SyntaxError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

// newSyntaxError finds the line in the text of the error. A text of one line has its fault in line
// 1.
func newSyntaxError(text string, err error) *SyntaxError {
	e := &SyntaxError{What: strings.TrimPrefix(err.Error(), "yaml: "), Err: err}
	if _, scan := fmt.Sscanf(e.What, "line %d:", &e.Line); scan == nil {
		_, e.What, _ = strings.Cut(e.What, ": ")
	} else if !strings.Contains(text, "\n") {
		e.Line = 1
	}
	return e
}

// Parser reads texts. The zero value is ready for use; it is not safe for concurrent use.
type Parser struct{ strings stringTable }

// Parse reads the first document of text; ok is false without a document. A value of more than
// limit bytes is an error, because aliases can make a large value from a short text. Syntax errors
// are *SyntaxError.
func (p *Parser) Parse(text string, limit int) (v any, ok bool, err error) {
	if isBlank(text) {
		return nil, false, nil
	}
	if v, ok := parsePlain(text, &p.strings); ok {
		return v, true, nil
	}
	v, err = parseAny(text, limit)
	return v, err == nil, err
}

// parseAny reads any text, with the parser of sigs.k8s.io/yaml. Tests compare parsePlain with it.
func parseAny(text string, limit int) (any, error) {
	doc, err := decode(text)
	if err != nil {
		return nil, newSyntaxError(text, err)
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
// has a fixed number of places; a new string replaces the string at its place.
type stringTable [256]any

const longestKept = 64

// get returns a copy of s that shares no memory with it. It is an any already, so that the caller
// need not allocate one.
func (t *stringTable) get(s string) any {
	n := len(s)
	if n == 0 || n > longestKept {
		return strings.Clone(s)
	}
	known := &t[(7*uint(n)+31*uint(s[0])+11*uint(s[n/2])+uint(s[n-1]))%uint(len(t))]
	if *known != any(s) {
		*known = strings.Clone(s)
	}
	return *known
}
