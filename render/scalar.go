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
)

var classes = func() (table [128]class) {
	set := func(chars string, c class) {
		for i := range len(chars) {
			table[chars[i]] |= c
		}
	}
	set(digits+letters+"_./-+", inFlow|inBlock)
	set(" :,()=;", inBlock)
	set("ghjklmqrstuvwyzGHJKLMQRSTUVWYZ :/,()=;", notNumber)
	return table
}()

// words are the scalars without quotes that are no strings although they look like it.
var words = func() map[string]any {
	table := map[string]any{}
	for list, v := range map[string]any{
		"y Y yes Yes YES true True TRUE on On ON":    true,
		"n N no No NO false False FALSE off Off OFF": false,
		"null Null NULL": nil,
	} {
		for _, word := range strings.Fields(list) {
			table[word] = v
		}
	}
	return table
}()

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// all reports whether every character of s, which is ASCII, is of the class.
func all(s string, c class) bool {
	for i := range len(s) {
		if classes[s[i]]&c == 0 {
			return false
		}
	}
	return true
}

// scalar reads a scalar without quotes, or returns false where it is not certain what YAML makes of it.
func scalar(s string, allowed class) (any, bool) {
	if s == "" || !all(s, allowed) || strings.Contains(s, ": ") || s[len(s)-1] == ':' {
		return nil, false
	}
	switch c := s[0]; {
	case isLetter(c):
		if v, ok := words[s]; ok {
			return v, true
		}
		return s, true
	case isDigit(c):
		return number(s)
	case c == '-' && len(s) > 1 && isDigit(s[1]):
		return number(s)
	}
	return s, s[0] == '_' || s[0] == '/'
}

// number reads what begins like a number: plain decimal integers are int64, texts that cannot be a number are strings.
func number(s string) (any, bool) {
	for i := range len(s) {
		if classes[s[i]]&notNumber != 0 {
			return s, true
		}
	}
	if strings.Count(s, ".") > 1 {
		return s, true
	}
	digits := strings.TrimPrefix(s, "-")
	if digits[0] == '0' && s != "0" {
		return nil, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
