package render

import "strings"

// A vocabulary holds words that a template writes again and again: names of fields, types of conditions, images. Values share them, and no value
// is part of the rendered text: an address that is kept would keep all of that.
type vocabulary struct {
	words [][2]any // strings, by place, the newer first; nil before the first
}

// vocabularyBits of a hash are the place of a word. Twice so many words fit in.
const vocabularyBits = 8

// value returns a string as a value.
func (v *vocabulary) value(s string) any {
	if v.words == nil {
		v.words = make([][2]any, 1<<vocabularyBits)
	}
	at := &v.words[placeOf(s)]
	for i := range at {
		if known, ok := at[i].(string); ok && known == s {
			return at[i]
		}
	}
	word := any(strings.Clone(s))
	if len(s) <= maxPlainKey {
		at[0], at[1] = word, at[0]
	}
	return word
}

// placeOf looks at a few bytes only. Words that share a place are forgotten sooner, nothing else; and unlike by the hash of a map, of which
// every process has another, a rendering takes the same allocations everywhere.
func placeOf(s string) uint32 {
	n := uint32(len(s))
	if n == 0 {
		return 0
	}
	some := n<<24 ^ uint32(s[0])<<16 ^ uint32(s[n/2])<<8 ^ uint32(s[n-1])
	return some * 0x9e3779b1 >> (32 - vocabularyBits) // Knuth's multiplicative hash
}

// text returns a string.
func (v *vocabulary) text(s string) string {
	word, _ := v.value(s).(string)
	return word
}
