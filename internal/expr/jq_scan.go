package expr

import "strings"

// token is a name in the source text of a jq program.
type token struct {
	name   string
	offset int
}

// identifiers returns the names of functions and variables in the text, in order: what looks like a name and is not a field
// (.name), a string or a comment. It is used to place a fault that is known already, so keywords and keys may be among them.
func identifiers(source string) []token {
	s := scanner{text: source}
	s.code(0)
	return s.tokens
}

type scanner struct {
	text   string
	i      int
	tokens []token
}

// code scans until the parenthesis that ends an interpolation, if depth is 1, or until the end.
func (s *scanner) code(depth int) {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == '"':
			s.i++
			s.literal()
		case c == '#':
			s.comment()
		case isName(c) || c == '$':
			s.name()
		default:
			s.i++
			inside := depth > 0
			depth += nesting(c, depth)
			if inside && depth == 0 {
				return
			}
		}
	}
}

// nesting counts parentheses only within an interpolation.
func nesting(c byte, depth int) int {
	switch {
	case depth > 0 && c == '(':
		return 1
	case depth > 0 && c == ')':
		return -1
	}
	return 0
}

func (s *scanner) literal() {
	for s.i < len(s.text) {
		c := s.text[s.i]
		s.i++
		switch {
		case c == '"':
			return
		case c == '\\' && strings.HasPrefix(s.text[s.i:], "("):
			s.i++
			s.code(1)
		case c == '\\':
			s.i++
		}
	}
}

func (s *scanner) comment() {
	for s.i < len(s.text) && s.text[s.i] != '\n' {
		s.i++
	}
}

func (s *scanner) name() {
	start := s.i
	for s.i++; s.i < len(s.text) && isName(s.text[s.i]); s.i++ {
	}
	if start == 0 || s.text[start-1] != '.' {
		s.tokens = append(s.tokens, token{s.text[start:s.i], start})
	}
}

func isName(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
