package render

import (
	"hash/maphash"
	"strings"
)

// A vocabulary holds words that a template writes again and again: names of fields, types of conditions, images. Values share them, and no value
// is part of the rendered text: an address that is kept would keep all of that.
type vocabulary struct {
	seed  maphash.Seed
	words []any // strings, by hash; nil before the first
}

const vocabularySize = 1 << 8

// value returns a string as a value.
func (v *vocabulary) value(s string) any {
	if v.words == nil {
		v.seed, v.words = maphash.MakeSeed(), make([]any, vocabularySize)
	}
	at := maphash.String(v.seed, s) % vocabularySize
	if known, ok := v.words[at].(string); ok && known == s {
		return v.words[at]
	}
	word := any(strings.Clone(s))
	if len(s) <= maxPlainKey {
		v.words[at] = word
	}
	return word
}

// known returns the same value, if it is a string that of the vocabulary.
func (v *vocabulary) known(value any) any {
	if s, ok := value.(string); ok {
		return v.value(s)
	}
	return value
}

// text returns a string.
func (v *vocabulary) text(s string) string {
	word, _ := v.value(s).(string)
	return word
}
