package render

import (
	"strconv"
	"strings"
)

// class is a set of the characters that a scalar without quotes may have.
type class uint8

const (
	inFlow    class = 1 << iota // of names, numbers and paths, wherever they stand
	inBlock                     // those of inFlow, and punctuation that means nothing outside flow collections
	notNumber                   // in no number of YAML 1.1
	colon                       // what may end a key
	printed                     // ASCII that is neither a control character nor a line break
)

var classes = func() (table [256]class) {
	set := func(chars string, c class) {
		for i := range len(chars) {
			table[chars[i]] |= c
		}
	}
	set(digits+letters+"_./-+", inFlow|inBlock)
	set(" :,()=;", inBlock)
	set(":", colon)
	set(ascii(), printed)
	set("ghjklmqrstuvwyzGHJKLMQRSTUVWYZ :/,()=;", notNumber)
	return table
}()

// scan returns the classes that all characters of s have, and those that any of them has.
func scan(s string) (all, some class) {
	all = ^class(0)
	for i := range len(s) {
		c := classes[s[i]]
		all, some = all&c, some|c
	}
	return all, some
}

// word is the value of a scalar without quotes that is no string although it looks like it.
func word(s string) (v any, ok bool) {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	case "null", "Null", "NULL":
		return nil, true
	}
	return nil, false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// leaf reads a scalar wherever it stands.
func (v *vocabulary) leaf(s string, _ int, allowed class) (any, bool) {
	if s == "" || !isQuote(s[0]) {
		return scalar(s, allowed, v)
	}
	text, rest, closed := cutQuoted(s)
	return v.value(text), closed && rest == ""
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// scalar reads a scalar without quotes, or returns false where it is not certain what YAML makes of it. Strings are taken from the words.
func scalar(s string, allowed class, words *vocabulary) (any, bool) {
	all, some := scan(s)
	if s == "" || all&allowed == 0 {
		return nil, false
	}
	if some&colon != 0 && (strings.Contains(s, ": ") || s[len(s)-1] == ':') {
		return nil, false
	}
	switch c := s[0]; {
	case isLetter(c):
		if v, ok := word(s); ok {
			return v, true
		}
		return words.value(s), true
	case isDigit(c), c == '-' && len(s) > 1 && isDigit(s[1]):
		return number(s, some, words)
	case c == '_', c == '/':
		return words.value(s), true
	}
	return nil, false
}

// number reads what begins like a number: plain decimal integers are int64, texts that cannot be a number are strings.
func number(s string, some class, words *vocabulary) (any, bool) {
	if some&notNumber != 0 || strings.Count(s, ".") > 1 {
		return words.value(s), true
	}
	digits := strings.TrimPrefix(s, "-")
	if digits[0] == '0' && s != "0" {
		return nil, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
