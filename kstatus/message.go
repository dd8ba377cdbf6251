package kstatus

import (
	"strconv"
	"strings"
)

// A message is kept in parts until someone reads it, so that a verdict costs no allocation. Each %s of the format stands for the next of
// the words and each %d for the next of the numbers; there are no other verbs.
type message struct {
	format  string
	words   [2]string
	numbers [3]int64
}

func text(s string) message { return message{format: "%s", words: [2]string{s}} }

func named(format string, words ...string) message {
	m := message{format: format}
	copy(m.words[:], words)
	return m
}

func counted(format string, numbers ...int64) message {
	m := message{format: format}
	copy(m.numbers[:], numbers)
	return m
}

func (m message) String() string {
	if m.format == "%s" {
		return m.words[0]
	}
	var b strings.Builder
	words, numbers := m.words[:], m.numbers[:]
	rest := m.format
	for {
		before, verb, found := strings.Cut(rest, "%")
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case strings.HasPrefix(verb, "s") && len(words) > 0:
			b.WriteString(words[0])
			words = words[1:]
		case strings.HasPrefix(verb, "d") && len(numbers) > 0:
			b.WriteString(strconv.FormatInt(numbers[0], 10))
			numbers = numbers[1:]
		}
		rest = verb[min(1, len(verb)):]
	}
}
