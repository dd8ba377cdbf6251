package argolua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// find is string.find and string.match: the first match at or after a place.
func (b *box) find(match bool) lua.LGFunction {
	return func(l *lua.LState) int {
		text, pattern := l.CheckString(1), l.CheckString(2)
		from := start(l.OptInt(3, 1), len(text))
		if from > len(text) {
			l.Push(lua.LNil)
			return 1
		}
		if !match && (l.ToBool(4) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
			return b.plain(text, pattern, from)
		}
		m := b.matcher(text, pattern)
		begin, end, ok := b.search(m, from)
		switch {
		case !ok:
			l.Push(lua.LNil)
			return 1
		case match:
			return b.pushCaptures(m, begin, end, true)
		}
		l.Push(lua.LNumber(begin + 1))
		l.Push(lua.LNumber(end))
		return 2 + b.pushCaptures(m, begin, end, false)
	}
}

// start returns the place for a position, which may count from the end.
func start(position, length int) int {
	if position < 0 {
		position += length + 1
	}
	return max(position, 1) - 1
}

func (b *box) plain(text, word string, from int) int {
	b.charge((len(text) + len(word)) / 8)
	i := strings.Index(text[from:], word)
	if i < 0 {
		b.state.Push(lua.LNil)
		return 1
	}
	b.state.Push(lua.LNumber(from + i + 1))
	b.state.Push(lua.LNumber(from + i + len(word)))
	return 2
}

func (b *box) matcher(text, pattern string) *matcher {
	return &matcher{text: text, pattern: pattern, charge: b.charge}
}

// search returns the first match at or after a place.
func (b *box) search(m *matcher, from int) (begin, end int, ok bool) {
	defer b.raisePattern()
	anchored := strings.HasPrefix(m.pattern, "^")
	if anchored {
		m.pattern = m.pattern[1:]
	}
	for ; from <= len(m.text); from++ {
		b.charge(1)
		if end, ok := m.matchAt(from); ok {
			return from, end, true
		}
		if anchored {
			break
		}
	}
	return 0, 0, false
}

// raisePattern makes the panic of a matcher an error of the script.
func (b *box) raisePattern() {
	if p := recover(); p != nil {
		wrong, ok := p.(patternError)
		if !ok {
			panic(p)
		}
		b.state.RaiseError("%s", wrong.Error())
	}
}

// pushCaptures pushes the captures of a match, or the whole match if the pattern has no captures and the caller wants it.
func (b *box) pushCaptures(m *matcher, begin, end int, whole bool) int {
	if len(m.captures) == 0 && whole {
		b.make(end - begin)
		b.state.Push(lua.LString(m.text[begin:end]))
		return 1
	}
	for _, c := range m.captures {
		switch c.end {
		case positionCapture:
			b.state.Push(lua.LNumber(c.begin + 1))
		case openCapture:
			b.state.RaiseError("unfinished capture")
		default:
			b.make(c.end - c.begin)
			b.state.Push(lua.LString(m.text[c.begin:c.end]))
		}
	}
	return len(m.captures)
}

// replaceAll is string.gsub with a string as the replacement, in which % has no meaning.
func (b *box) replaceAll(l *lua.LState) int {
	text, pattern := l.CheckString(1), l.CheckString(2)
	replacement, ok := l.Get(3).(lua.LString)
	if !ok || strings.Contains(string(replacement), "%") {
		l.RaiseError("string.gsub takes a string without %% as its replacement here")
	}
	most := l.OptInt(4, len(text)+1)
	var out strings.Builder
	n, at := 0, 0
	for m := b.matcher(text, pattern); n < most && at <= len(text); n++ {
		begin, end, found := b.search(m, at)
		if !found {
			break
		}
		b.make(begin - at + len(replacement))
		out.WriteString(text[at:begin])
		out.WriteString(string(replacement))
		if at = end; begin == end {
			if end < len(text) {
				out.WriteByte(text[end])
			}
			at++
		}
		if strings.HasPrefix(pattern, "^") {
			n++
			break
		}
	}
	if at < len(text) {
		b.make(len(text) - at)
		out.WriteString(text[at:])
	}
	l.Push(lua.LString(out.String()))
	l.Push(lua.LNumber(n))
	return 2
}
