package jq

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// toGojq returns a copy of v in the Go types that gojq takes; others make it panic. Integers become int,
// or *big.Int where an int does not hold them. What is no JSON value becomes what encoding/json makes of
// it, or null.
func toGojq(v any) any {
	switch x := v.(type) {
	case nil, bool, string, float64, int:
		return v
	case int64:
		if n := int(x); int64(n) == x {
			return n
		}
		return big.NewInt(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = toGojq(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = toGojq(e)
		}
		return out
	case uint64:
		return smallest(new(big.Int).SetUint64(x))
	case uint:
		return smallest(new(big.Int).SetUint64(uint64(x)))
	case *big.Int:
		return smallest(x)
	case json.Number:
		return numberToGojq(x)
	}
	return otherToGojq(v)
}

func otherToGojq(v any) any {
	if n := object.Number(v); n != nil {
		return toGojq(n)
	}
	if m, ok := object.ToMap(v); ok {
		return toGojq(m)
	}
	if s, ok := object.ToSlice(v); ok {
		return toGojq(s)
	}
	text, err := json.Marshal(v) // which alone knows what the type means
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
	if i, ok := new(big.Int).SetString(string(text), 10); ok {
		return smallest(i)
	}
	if f, err := text.Float64(); err == nil {
		return f
	}
	return nil
}

// smallest is an int if that holds the number.
func smallest(x *big.Int) any {
	switch {
	case x == nil:
		return nil
	case x.IsInt64() && int64(int(x.Int64())) == x.Int64():
		return int(x.Int64())
	}
	return x
}

// fromGojq turns a value of gojq into one of ours: nil, bool, string, int64, float64, json.Number for
// integers beyond int64, []any, map[string]any.
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
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = fromGojq(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = fromGojq(e)
		}
		return out
	}
	return v
}

// plain returns v itself if native programs take it as it is, else it converts.
func plain(v any) any {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v
	}
	return fromGojq(toGojq(v))
}
