package codec

import (
	"bytes"
	"unicode/utf8"
)

// A cursor is a place in a JSON text.
type cursor struct {
	data []byte
	at   int
}

// peek returns the next byte that is not space, or 0 at the end.
func (c *cursor) peek() byte {
	c.space()
	if c.at == len(c.data) {
		return 0
	}
	return c.data[c.at]
}

func (c *cursor) space() {
	for c.at < len(c.data) && isSpace[c.data[c.at]] {
		c.at++
	}
}

var isSpace = [256]bool{' ': true, '\n': true, '\t': true, '\r': true}

// take skips a byte, if it is the next one.
func (c *cursor) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *cursor) literal(word string) bool {
	if !bytes.HasPrefix(c.data[c.at:], []byte(word)) {
		return false
	}
	c.at += len(word)
	return true
}

// quoted skips a string, and returns the text between its quotes. Plain is true if the text has no
// escapes.
func (c *cursor) quoted() (text []byte, plain, ok bool) {
	c.at++
	start := c.at
	plain = true
	for ; c.at < len(c.data); c.at++ {
		switch b := c.data[c.at]; {
		case b == '"':
			c.at++
			return c.data[start : c.at-1], plain, true
		case b == '\\':
			c.at++
			plain = false
		case b < ' ' || b >= utf8.RuneSelf:
			plain = false
		}
	}
	c.at = len(c.data)
	return nil, false, false
}

// number skips the characters that a number can have.
func (c *cursor) number() []byte {
	start := c.at
	for c.at < len(c.data) && isNumber[c.data[c.at]] {
		c.at++
	}
	return c.data[start:c.at]
}

var isNumber = [256]bool{
	'+': true, '-': true, '.': true, 'e': true, 'E': true,
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
}

// skip skips a value without reading it.
func (c *cursor) skip() bool {
	switch c.peek() {
	case '{', '[':
		var b brackets
		n := b.end(c.data[c.at:])
		c.at += max(n, 0)
		return n > 0
	case '"':
		_, _, ok := c.quoted()
		return ok
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return len(c.number()) > 0
}

// event returns the type of a watch event, and the text of its object.
func event(data []byte) (typ string, object []byte, ok bool) {
	c := cursor{data: data}
	if !c.take('{') {
		return "", nil, false
	}
	for {
		key, value, ok := c.member()
		switch {
		case !ok:
			return "", nil, false
		case key == "type" && value[0] == '"':
			typ = string(value[1 : len(value)-1])
		case key == "object":
			object = value
		}
		if !c.take(',') {
			return typ, object, c.take('}') && typ != "" && object != nil
		}
	}
}

// member skips a member of an object.
func (c *cursor) member() (key string, value []byte, ok bool) {
	if c.peek() != '"' {
		return "", nil, false
	}
	name, _, ok := c.quoted()
	ok = ok && c.take(':')
	c.space()
	start := c.at
	ok = ok && c.skip()
	return string(name), c.data[start:c.at], ok
}
