package object

import (
	"fmt"
	"reflect"
)

// Plain returns a copy of a JSON value that has no other types than decoded JSON, with integers as
// int64. It converts types based on maps and lists, such as a named map type. The error names a
// type that JSON does not have.
func Plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case map[string]any:
		return plainMap(v)
	case []any:
		return plainList(v)
	}
	return converted(reflect.ValueOf(v))
}

func plainMap(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for key, v := range m {
		p, err := Plain(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = p
	}
	return out, nil
}

func plainList(list []any) (any, error) {
	out := make([]any, len(list))
	for i, v := range list {
		p, err := Plain(v)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = p
	}
	return out, nil
}

var (
	mapType  = reflect.TypeFor[map[string]any]()
	listType = reflect.TypeFor[[]any]()
)

func converted(v reflect.Value) (any, error) {
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.CanConvert(mapType):
		return Plain(v.Convert(mapType).Interface())
	case v.CanConvert(listType):
		return Plain(v.Convert(listType).Interface())
	}
	return nil, fmt.Errorf("%s is no type of JSON", v.Type())
}
