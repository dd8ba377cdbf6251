package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// marshalYAML is Marshal of sigs.k8s.io/yaml, but gives the same text for the same value every time: see [sortItems]. That Marshal goes by JSON,
// which takes three times as long and matters only for values that JSON changes; the rest is given to the same encoder directly.
func marshalYAML(v any) ([]byte, error) {
	if !staysInJSON(v) {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("error marshaling into JSON: %w", err)
		}
		v = nil
		if err := goyaml.Unmarshal(data, &v); err != nil {
			return nil, err
		}
	}
	return goyaml.Marshal(ordered(v))
}

// staysInJSON reports whether a value is the same after being written to JSON and read back.
func staysInJSON(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return true
	case string:
		return object.IsPlain(v)
	case map[string]any:
		for k, item := range v {
			if !object.IsPlain(k) || !staysInJSON(item) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, item := range v {
			if !staysInJSON(item) {
				return false
			}
		}
		return v != nil
	default:
		return false
	}
}

// ordered returns a value with the mappings in it as lists of items, whose order the encoder keeps.
func ordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return items(v)
	case map[any]any: // from JSON, so that the keys are strings
		return items(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = ordered(item)
		}
		return list
	}
	return v
}

func items[K comparable](m map[K]any) goyaml.MapSlice {
	list := make(goyaml.MapSlice, 0, len(m))
	for k, v := range m {
		list = append(list, goyaml.MapItem{Key: k, Value: ordered(v)})
	}
	slices.SortFunc(list, func(a, b goyaml.MapItem) int { return strings.Compare(keyOf(a), keyOf(b)) })
	sortItems(list)
	return list
}

func keyOf(i goyaml.MapItem) string {
	key, _ := i.Key.(string)
	return key
}

// sortItems brings items, which are in plain order, into the order of the encoder's own mappings, wherever that is one. It is not for keys such
// as a7, a11 and a1A, of which each precedes the next and the last the first: those the encoder writes in an order that changes from call to
// call. A merge always comes to the same, and leaves no key beside one that it precedes.
func sortItems(list goyaml.MapSlice) {
	if len(list) < 2 {
		return
	}
	half := len(list) / 2
	sortItems(list[:half])
	sortItems(list[half:])
	if !keyLess(keyOf(list[half]), keyOf(list[half-1])) {
		return
	}
	left, right := slices.Clone(list[:half]), list[half:]
	for i := 0; len(left) > 0; i++ {
		if len(right) == 0 || keyLess(keyOf(left[0]), keyOf(right[0])) {
			list[i], left = left[0], left[1:]
		} else {
			list[i], right = right[0], right[1:]
		}
	}
}

// keyLess tells which of two different keys the encoder writes first. Where they begin to differ, letters come last, and numbers count as
// such, from there on. It is no order: see [sortItems].
func keyLess(a, b string) bool {
	same := common(a, b)
	if same == len(a) || same == len(b) {
		return len(a) < len(b)
	}
	x, _ := utf8.DecodeRuneInString(a[same:])
	y, _ := utf8.DecodeRuneInString(b[same:])
	switch xl, yl := unicode.IsLetter(x), unicode.IsLetter(y); {
	case xl && yl:
		return x < y
	case xl || yl:
		return yl
	}
	carry := int64(0)
	if (x == '0' || y == '0') && inNumber(a[:same]) {
		carry = 1 // so that the zero has a weight
	}
	n, nl := weight(carry, a[same:])
	m, ml := weight(carry, b[same:])
	return cmp.Or(cmp.Compare(n, m), cmp.Compare(nl, ml), cmp.Compare(x, y)) < 0
}

// common is the length of what two texts begin with, in whole runes.
func common(a, b string) int {
	for i, r := range a {
		if other, _ := utf8.DecodeRuneInString(b[i:]); r != other || i >= len(b) {
			return i
		}
	}
	return len(a)
}

// inNumber reports whether a text ends in digits that are not all zero.
func inNumber(s string) bool {
	digits := s[len(strings.TrimRightFunc(s, unicode.IsDigit)):]
	return strings.Trim(digits, "0") != ""
}

// weight reads the digits that a text begins with, behind those of a number. It counts them too, and overflows as the encoder does.
func weight(n int64, s string) (value int64, digits int) {
	for _, r := range s {
		if !unicode.IsDigit(r) {
			break
		}
		n, digits = n*10+int64(r-'0'), digits+1
	}
	return n, digits
}
