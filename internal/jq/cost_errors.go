package jq

import (
	"encoding/json"
	"math/big"

	"github.com/itchyny/gojq"
)

// previewSize is the work of the beginning of a value as an error of gojq has it: it goes through a
// whole text, and sorts all keys of an object, even if it then shows only a few characters.
func previewSize(v any) int { return previewed(v, 4) }

func previewed(v any, depth int) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case []any:
		n := 0
		for i := 0; depth > 0 && i < min(len(x), 16); i++ {
			n += previewed(x[i], depth-1)
		}
		return n
	case map[string]any:
		n := times(8, shallowSize(x))
		for k, e := range x { // the order is that of the keys: count the longest
			n = max(n, len(k)+textSize(e))
		}
		return n
	}
	return 0
}

// unlessObject is the work of the error of .name.
func unlessObject(x any) int {
	if _, ok := x.(map[string]any); ok || x == nil {
		return 0
	}
	return previewSize(x)
}

// unlessList is the work of the error of .[0] and .[1:2], which texts have as well.
func unlessList(x any) int {
	if _, ok := x.(map[string]any); ok {
		return previewSize(x)
	}
	return 0
}

// unlessContainer is the work of the error of has.
func unlessContainer(x any) int {
	switch x.(type) {
	case map[string]any, []any:
		return 0
	}
	return previewSize(x)
}

// unlessNumber is the work of the error of a function of numbers.
func unlessNumber(x any) int {
	switch x.(type) {
	case int, float64, *big.Int, json.Number:
		return 0
	}
	return previewSize(x)
}

// walked is the cost of getpath(y).
func walked(b *budget, x, y any) int {
	path, _ := y.([]any)
	whole, n := x, 0
	for _, key := range path {
		n = min(n+elementSize+accessed(b, x, key), 1<<50)
		if !hasPart(x, key) {
			return n + previewSize(whole) + previewSize(y)
		}
		x = elementOf(x, key)
	}
	return n
}

// hasPart reports whether x[key] is no error.
func hasPart(x, key any) bool {
	switch x.(type) {
	case nil:
		return true
	case map[string]any:
		_, ok := key.(string)
		return ok
	case []any:
		_, isName := key.(string)
		return !isName
	}
	return false
}

// elementOf is x[key], as far as a path goes through lists and objects.
func elementOf(x, key any) any {
	switch of := x.(type) {
	case map[string]any:
		name, _ := key.(string)
		return of[name]
	case []any:
		if i, ok := gojq.ToInt(key); ok {
			return elementAt(of, i)
		}
		if _, ok := key.(map[string]any); ok {
			return x // a part, which is not larger
		}
	}
	return nil
}
