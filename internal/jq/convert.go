package jq

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// toGojq returns a copy of v with the Go types that gojq accepts; gojq panics on other types.
// Integers become int, or *big.Int if an int is too small. A value of another Go type becomes its
// JSON form by encoding/json, or null.
func toGojq(v any) any {
	switch x := v.(type) {
	case nil, bool, string, float64, int:
		return v
	case []any, map[string]any:
		return copied(v, toGojq)
	case int64:
		if n := int(x); int64(n) == x {
			return n
		}
		return big.NewInt(x)
	case float32:
		return float64(x)
	case json.Number:
		return numberToGojq(x)
	}
	return otherToGojq(v)
}

func otherToGojq(v any) any {
	if m, ok := object.ToMap(v); ok {
		return toGojq(m)
	}
	if s, ok := object.ToSlice(v); ok {
		return toGojq(s)
	}
	text, err := json.Marshal(v) // the type can have its own JSON form
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil
	}
	return toGojq(out)
}

func numberToGojq(text json.Number) any {
	i, isInteger := new(big.Int).SetString(string(text), 10)
	f, err := text.Float64()
	switch {
	case isInteger && i.IsInt64() && int64(int(i.Int64())) == i.Int64():
		return int(i.Int64())
	case isInteger && i.BitLen() <= maxBits:
		return i
	case err != nil:
		return nil
	}
	return f
}

// fromGojq converts a value of gojq to our types: nil, bool, string, int64, float64, json.Number
// for integers beyond int64, []any, map[string]any.
func fromGojq(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case *big.Int:
		if x.IsInt64() {
			return x.Int64()
		}
		return json.Number(x.String())
	case json.Number:
		return fromGojq(toGojq(x))
	}
	return copied(v, fromGojq)
}

// copied is a copy of a list or map with its elements converted; any other value is itself.
func copied(v any, convert func(any) any) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = convert(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = convert(e)
		}
		return out
	}
	return v
}

// plain returns v itself if native programs accept its type, or else converts it.
func plain(v any) any {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v
	}
	return fromGojq(toGojq(v))
}
