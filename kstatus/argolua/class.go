package argolua

import "strings"

// classEnd returns where the class that begins at p ends.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	if c == '%' {
		if p >= len(m.pattern) {
			m.fail()
		}
		return p + 1
	}
	if c != '[' {
		return p
	}
	if p < len(m.pattern) && m.pattern[p] == '^' {
		p++
	}
	for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
		if p >= len(m.pattern) {
			m.fail()
		}
		if p++; m.pattern[p-1] == '%' {
			p++
		}
	}
	return p + 1
}

// single reports whether a byte is of the class from p to end.
func (m *matcher) single(c byte, p, end int) bool {
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return isClass(c, m.pattern[p+1])
	case '[':
		return m.set(c, p, end-1)
	}
	return m.pattern[p] == c
}

// set reports whether a byte is in the set from p to the bracket at end.
func (m *matcher) set(c byte, p, end int) bool {
	m.charge((end - p) / 8)
	in := true
	if p++; m.pattern[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			if p++; isClass(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

// isClass reports whether a byte is of the class of a letter: d is digits, D is all but digits.
func isClass(c, letter byte) bool {
	in := false
	switch letter | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'd':
		in = '0' <= c && c <= '9'
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 's':
		in = strings.IndexByte(" \t\n\v\f\r", c) >= 0
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = isLetter(c) || '0' <= c && c <= '9'
	case 'x':
		in = '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'p':
		in = '!' <= c && c <= '~' && !isLetter(c) && (c < '0' || c > '9')
	case 'c':
		in = c < ' ' || c == 0x7f
	case 'z':
		in = c == 0
	default:
		return letter == c
	}
	if 'A' <= letter && letter <= 'Z' {
		return !in
	}
	return in && isLetter(letter) || !isLetter(letter) && letter == c
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
