package render

import "strings"

// A skeleton is the lines of a text that a template writes again and again: they are read once, and not for every rendering. What a line
// means does not depend on its neighbours.
type skeleton struct {
	from, to int // the bytes of the whole lines
	lines    []line
	begun    *line // the entry at the end of the text, for which the template goes on with a value; nil if there is none
	ends     bool  // the text begins with the end of a line
}

// A stretch is lines at their place in a rendered text.
type stretch struct {
	from, to int
	lines    []line
}

func skeletonOf(text string, words *vocabulary) skeleton {
	s := skeleton{from: strings.IndexByte(text, '\n') + 1, to: strings.LastIndexByte(text, '\n') + 1}
	s.ends = s.from == 1
	for rest := text[s.from:s.to]; rest != ""; {
		var text string
		text, rest = cutLine(rest)
		if text, indent := content(text); text != "" {
			s.lines = append(s.lines, skeletonLine(text, indent, words))
		}
	}
	if begun, indent := content(text[s.to:]); s.to > 0 && begun != "" && text[len(text)-1] == ' ' {
		if l := skeletonLine(begun, indent, words); l.entry() != nil && l.entry().value == "" {
			s.begun = &l
		}
	}
	return s
}

// entry is the line itself, or what stands behind its dash; nil if that is none.
func (l *line) entry() *line {
	if l.behind != nil {
		l = l.behind
	}
	if l.kind != entry {
		return nil
	}
	return l
}

// skeletonLine reads all of a line but its flow collections.
func skeletonLine(text string, indent int, words *vocabulary) (first line) {
	l := &first
	l.look(text, indent, words)
	for depth := 0; l.kind == item && len(l.text) > 1 && depth < maxPlainDepth; depth++ {
		l.behind = &line{}
		text, indent := l.cutDash()
		l = l.behind
		l.look(text, indent, words)
	}
	switch {
	case l.kind == entry && l.value != "":
		l.scalar, l.isRead = lineScalar(l.value, words)
	case l.kind == other:
		l.scalar, l.isRead = lineScalar(l.text, words)
	}
	return first
}

// writing prints a text, and notes which lines the text has.
func writing(text string, words *vocabulary) part {
	s := skeletonOf(text, words)
	return func(r *run) bool {
		at := len(r.out)
		if s.ends && r.begun.isFull && r.begun.to == at {
			r.stretches = append(r.stretches, stretch{r.begun.from, at + 1, r.whole(r.begun)})
		}
		if len(s.lines) > 0 {
			r.stretches = append(r.stretches, stretch{at + s.from, at + s.to, s.lines})
		}
		r.begun = begun{entry: s.begun, from: at + s.to, to: at + len(text)}
		return r.writeText(text)
	}
}

// A begun line is that of a skeleton in a rendered text, with the value that was written behind it so far. It is a whole line if its end comes next.
type begun struct {
	entry    *line // nil if there is none
	from, to int
	value    string
	isFull   bool
}

// fill tells of a quoted value that was written from an offset on.
func (b *begun) fill(value string, from, to int) {
	if b.entry != nil && !b.isFull && b.to == from {
		b.value, b.to, b.isFull = value, to, true
	}
}

// whole makes a line of what was begun.
func (r *run) whole(b begun) []line {
	l := *b.entry
	e := &l
	if l.behind != nil {
		r.lines = append(r.lines, *l.behind)
		l.behind = &r.lines[len(r.lines)-1]
		e = l.behind
	}
	e.scalar, e.isRead = r.words.value(b.value), true
	r.lines = append(r.lines, l)
	return r.lines[len(r.lines)-1:]
}
