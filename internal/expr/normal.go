package expr

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// normal returns a copy of v in the Go types that gojq takes; others make it panic. Integers become int, or *big.Int
// where an int does not hold them. What is no JSON value becomes what encoding/json makes of it, or null.
func normal(v any) any {
	switch x := v.(type) {
	case nil, bool, string, float64, int:
		return v
	case int64:
		return fitInt(x)
	case []any:
		return normalList(x)
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = normal(e)
		}
		return out
	case json.Number:
		return normalNumber(string(x))
	case uint64:
		return fitBig(new(big.Int).SetUint64(x))
	case uint:
		return fitBig(new(big.Int).SetUint64(uint64(x)))
	case *big.Int:
		return normalBig(x)
	}
	return normalOther(v)
}

func normalList(list []any) any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = normal(e)
	}
	return out
}

func normalOther(v any) any {
	if n := object.Number(v); n != nil {
		return normal(n)
	}
	if m, ok := object.ToMap(v); ok {
		return normal(m)
	}
	if s, ok := object.ToSlice(v); ok {
		return normalList(s)
	}
	return roundTrip(v)
}

// roundTrip is for types of which only encoding/json knows what they mean.
func roundTrip(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil
	}
	return normal(out)
}

func normalNumber(text string) any {
	if i, err := json.Number(text).Int64(); err == nil {
		return fitInt(i)
	}
	if i, ok := new(big.Int).SetString(text, 10); ok {
		return i
	}
	f, err := json.Number(text).Float64()
	if err != nil {
		return nil
	}
	return f
}

func normalBig(x *big.Int) any {
	if x == nil {
		return nil
	}
	return fitBig(x)
}

func fitInt(i int64) any {
	if n := int(i); int64(n) == i {
		return n
	}
	return big.NewInt(i)
}

func fitBig(x *big.Int) any {
	if x.IsInt64() {
		return fitInt(x.Int64())
	}
	return x
}

// result turns a value of gojq into one of ours: nil, bool, string, int64, float64, json.Number for integers beyond
// int64, []any, map[string]any.
func result(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case *big.Int:
		if x.IsInt64() {
			return x.Int64()
		}
		return json.Number(x.String())
	case json.Number:
		return result(normal(x))
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = result(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = result(e)
		}
		return out
	}
	return v
}

// plain returns v itself if it is of a type that native jq handles, else it converts.
func plain(v any) any {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v
	}
	return result(normal(v))
}
