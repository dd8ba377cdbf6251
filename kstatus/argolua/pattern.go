package argolua

import (
	"errors"
	"strings"
)

// The patterns of Lua 5.1, matched with a count of steps: the ones of gopher-lua cannot be stopped.

var errPattern = errors.New("malformed pattern")

const (
	mostCaptures = 32
	mostNested   = 200 // of the matcher
)

// A capture is a part of the text, or a position in it.
type capture struct{ begin, end int }

const (
	openCapture     = -1
	positionCapture = -2
)

// A matcher matches one pattern at one place of a text. It panics with a patternError.
type matcher struct {
	text, pattern string
	captures      []capture
	charge        func(steps int)
	depth         int
}

type patternError struct{ error }

// matchAt returns the end of the match that begins at a place, or false.
func (m *matcher) matchAt(begin int) (end int, ok bool) {
	m.captures, m.depth = m.captures[:0], 0
	return m.match(begin, 0)
}

func (m *matcher) fail() { panic(patternError{errPattern}) }

// match matches the rest of the pattern.
func (m *matcher) match(s, p int) (end int, ok bool) {
	if m.depth++; m.depth > mostNested {
		panic(patternError{errors.New("the pattern is too complex")})
	}
	defer func() { m.depth-- }()
	for p < len(m.pattern) {
		m.charge(1)
		switch m.pattern[p] {
		case '(':
			return m.open(s, p)
		case ')':
			return m.close(s, p)
		case '$':
			if p+1 == len(m.pattern) {
				return s, s == len(m.text)
			}
		case '%':
			if next, after, special := m.special(s, p); special {
				if next < 0 {
					return 0, false
				}
				s, p = next, after
				continue
			}
		}
		after := m.classEnd(p)
		if after < len(m.pattern) && strings.IndexByte("*+-?", m.pattern[after]) >= 0 {
			return m.repeat(s, p, after)
		}
		if s >= len(m.text) || !m.single(m.text[s], p, after) {
			return 0, false
		}
		s, p = s+1, after
	}
	return s, true
}

func (m *matcher) open(s, p int) (int, bool) {
	if len(m.captures) == mostCaptures {
		panic(patternError{errors.New("too many captures")})
	}
	c, p := capture{s, openCapture}, p+1
	if p < len(m.pattern) && m.pattern[p] == ')' {
		c.end, p = positionCapture, p+1
	}
	m.captures = append(m.captures, c)
	n := len(m.captures)
	end, ok := m.match(s, p)
	if !ok {
		m.captures = m.captures[:n-1]
	}
	return end, ok
}

func (m *matcher) close(s, p int) (int, bool) {
	for i := len(m.captures) - 1; i >= 0; i-- {
		if m.captures[i].end != openCapture {
			continue
		}
		m.captures[i].end = s
		end, ok := m.match(s, p+1)
		if !ok {
			m.captures[i].end = openCapture
		}
		return end, ok
	}
	m.fail()
	return 0, false
}

// special matches %b and %1 to %9. A place below 0 means that it does not match.
func (m *matcher) special(s, p int) (next, after int, special bool) {
	if p+1 >= len(m.pattern) {
		m.fail()
	}
	switch c := m.pattern[p+1]; {
	case c == 'b':
		return m.balanced(s, p+2), p + 4, true
	case '1' <= c && c <= '9':
		i := int(c - '1')
		if i >= len(m.captures) || m.captures[i].end < 0 {
			m.fail()
		}
		again := m.text[m.captures[i].begin:m.captures[i].end]
		m.charge(len(again) / 8)
		if !strings.HasPrefix(m.text[s:], again) {
			return -1, 0, true
		}
		return s + len(again), p + 2, true
	}
	return 0, 0, false
}

func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.fail()
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	open := 1
	for i := s + 1; i < len(m.text); i++ {
		m.charge(1)
		switch m.text[i] {
		case m.pattern[p+1]:
			if open--; open == 0 {
				return i + 1
			}
		case m.pattern[p]:
			open++
		}
	}
	return -1
}

// repeat matches a class with a quantifier, and what follows.
func (m *matcher) repeat(s, p, q int) (int, bool) {
	least, most := 0, len(m.text)-s
	switch m.pattern[q] {
	case '+':
		least = 1
	case '?':
		most = min(most, 1)
	case '-':
		return m.lazily(s, p, q)
	}
	n := 0
	for n < most && m.single(m.text[s+n], p, q) {
		m.charge(1)
		n++
	}
	for ; n >= least; n-- {
		if end, ok := m.match(s+n, q+1); ok {
			return end, true
		}
	}
	return 0, false
}

func (m *matcher) lazily(s, p, q int) (int, bool) {
	for {
		if end, ok := m.match(s, q+1); ok {
			return end, true
		}
		if s >= len(m.text) || !m.single(m.text[s], p, q) {
			return 0, false
		}
		s++
	}
}
