package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	goyaml "go.yaml.in/yaml/v2"
)

// marshalYAML is like Marshal of sigs.k8s.io/yaml, which converts to JSON first. However, it gives
// the same text for the same value every time: see [compareKeys].
func marshalYAML(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("error marshaling into JSON: %w", err)
	}
	var decoded any
	if err := goyaml.Unmarshal(data, &decoded); err != nil {
		return nil, err
	}
	return goyaml.Marshal(ordered(decoded))
}

// ordered returns a value with the mappings in it as lists of items, whose order the encoder keeps.
func ordered(v any) any {
	switch v := v.(type) {
	case map[any]any: // from JSON, so that the keys are strings
		items := make(goyaml.MapSlice, 0, len(v))
		for k, item := range v {
			items = append(items, goyaml.MapItem{Key: k, Value: ordered(item)})
		}
		slices.SortFunc(items, func(a, b goyaml.MapItem) int { return strings.Compare(keyOf(a), keyOf(b)) })
		slices.SortStableFunc(items, func(a, b goyaml.MapItem) int { return compareKeys(keyOf(a), keyOf(b)) })
		return items
	case []any:
		for i, item := range v {
			v[i] = ordered(item)
		}
	}
	return v
}

func keyOf(i goyaml.MapItem) string {
	key, _ := i.Key.(string)
	return key
}

// compareKeys is the order of keys in mappings that the encoder itself writes. From the first
// difference on, letters come last, and digits are compared as numbers. The order is not
// transitive: a7 precedes a11, a11 precedes a1A, and a1A precedes a7. The encoder writes such keys
// in an order that changes from call to call. A stable sort of sorted keys always gives the same
// order.
func compareKeys(a, b string) int {
	x, y := []rune(a), []rune(b)
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	if i == len(x) || i == len(y) {
		return cmp.Compare(len(x), len(y))
	}
	isLetter := unicode.IsLetter(x[i])
	switch {
	case isLetter != unicode.IsLetter(y[i]) && isLetter:
		return 1
	case isLetter != unicode.IsLetter(y[i]):
		return -1
	case isLetter:
		return cmp.Compare(x[i], y[i])
	}
	before := int64(0)
	for k := i - 1; (x[i] == '0' || y[i] == '0') && k >= 0 && unicode.IsDigit(x[k]); k-- {
		if x[k] != '0' {
			before = 1 // so that the zero counts
		}
	}
	n, nDigits := number(before, x[i:])
	m, mDigits := number(before, y[i:])
	return cmp.Or(cmp.Compare(n, m), cmp.Compare(nDigits, mDigits), cmp.Compare(x[i], y[i]))
}

// number reads the digits at the beginning of a text and appends them to n. It also counts the
// digits, and overflows as the encoder does.
func number(n int64, s []rune) (value int64, digits int) {
	for _, r := range s {
		if !unicode.IsDigit(r) {
			break
		}
		n, digits = n*10+int64(r-'0'), digits+1
	}
	return n, digits
}
