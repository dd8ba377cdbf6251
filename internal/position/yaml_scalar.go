package position

import (
	"strconv"
	"strings"
)

// class is a set of characters.
type class uint8

const (
	inName    class = 1 << iota // of names, numbers and paths
	inText                      // the characters of inName, and punctuation without a meaning outside flow collections
	notNumber                   // in no number of YAML 1.1
	colon                       // what may end a key
	printing                    // ASCII that is neither a control character nor a line break
)

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var classes = func() (table [256]class) {
	set := func(chars string, c class) {
		for i := range len(chars) {
			table[chars[i]] |= c
		}
	}
	set(digits+letters+"_./-+", inName|inText)
	set(" :,()=;", inText)
	set(":", colon)
	set("ghjklmqrstuvwyzGHJKLMQRSTUVWYZ :/,()=;", notNumber)
	for c := ' '; c <= '~'; c++ {
		table[c] |= printing
	}
	return table
}()

// scan returns the classes that all characters of s have, and the classes that at least one
// character has.
func scan(s string) (all, some class) {
	all = ^class(0)
	for i := range len(s) {
		c := classes[s[i]]
		all, some = all&c, some|c
	}
	return all, some
}

func isPrintable(s string) bool {
	all, _ := scan(s)
	return all&printing != 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// scalar reads a scalar or an empty collection. It reports false if YAML could read s in another
// way.
func (t *stringTable) scalar(s string) (any, bool) {
	switch {
	case s == "{}":
		return map[string]any{}, true
	case s == "[]":
		return []any{}, true
	case isQuote(s[0]):
		text, rest, ok := cutQuoted(s)
		return t.get(text), ok && rest == ""
	}
	all, some := scan(s)
	if all&inText == 0 {
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
		return t.get(s), true
	case isDigit(c), c == '-' && len(s) > 1 && isDigit(s[1]):
		return t.integer(s, some)
	case c == '_', c == '/':
		return t.get(s), true
	}
	return nil, false
}

// word is the value of a scalar without quotes that is a boolean or null.
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

// integer reads a scalar that begins with a digit: an int64 if it is a decimal integer, a string if
// it cannot be a number.
func (t *stringTable) integer(s string, some class) (any, bool) {
	if some&notNumber != 0 || strings.Count(s, ".") > 1 {
		return t.get(s), true
	}
	if strings.TrimPrefix(s, "-")[0] == '0' && s != "0" {
		return nil, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// cutQuoted reads a quoted scalar without escapes at the beginning of s.
func cutQuoted(s string) (text, rest string, ok bool) {
	quote := s[0]
	text, rest, ok = strings.Cut(s[1:], s[:1])
	if !ok || !isPrintable(text) || quote == '"' && strings.Contains(text, `\`) {
		return "", "", false
	}
	return text, rest, quote == '"' || rest == "" || rest[0] != '\''
}
