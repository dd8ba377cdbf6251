package position

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A converter makes JSON values from the results of the YAML decoder.
type converter struct{ limit, left int }

// spend subtracts the bytes of a value from the limit.
func (c *converter) spend(bytes int) error {
	if c.left -= bytes; c.left < 0 {
		return fmt.Errorf("needs more than %d bytes of values: %w", c.limit, ErrTooLarge)
	}
	return nil
}

func (c *converter) value(v any) (any, error) {
	if err := c.spend(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return valid(v), c.spend(len(v))
	case nil, bool:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		return number(v)
	case map[any]any:
		return c.mapping(v)
	case []any:
		return c.sequence(v)
	case uint64:
		return float64(v), nil
	case time.Time:
		text, err := v.MarshalText()
		return string(text), err
	}
	return nil, fmt.Errorf("unsupported value of type %T", v)
}

func (c *converter) mapping(m map[any]any) (any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		key, err := c.key(k)
		if err != nil {
			return nil, err
		}
		// Otherwise the order of a Go map would decide which of them stays.
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("two keys are %q", key)
		}
		if out[key], err = c.value(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *converter) sequence(list []any) (any, error) {
	out := make([]any, len(list))
	for i, v := range list {
		var err error
		if out[i], err = c.value(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// key writes a key as sigs.k8s.io/yaml does, floats with the digits of a float32.
func (c *converter) key(k any) (string, error) {
	switch k := k.(type) {
	case string:
		return valid(k), c.spend(len(k))
	case int:
		return strconv.Itoa(k), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		return infinities.Replace(strconv.FormatFloat(k, 'g', -1, 32)), nil
	}
	return "", fmt.Errorf("unsupported key of type %v", reflect.TypeOf(k))
}

// infinities replaces the words of strconv by those of YAML.
var infinities = strings.NewReplacer("+Inf", ".inf", "-Inf", "-.inf", "NaN", ".nan")

// number is the number that JSON would make of f: an int64 if f has no fraction.
func number(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("unsupported number %v", f)
	}
	if f != math.Trunc(f) {
		return f, nil
	}
	if n, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return n, nil
	}
	return f, nil
}

// valid replaces each byte that is not UTF-8, as JSON does.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
