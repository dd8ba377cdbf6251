package render

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml/goyaml.v2"
)

// parseYAML reads the first document of text as sigs.k8s.io/yaml would turn it into JSON, and that into values. ok is
// false if there is none. A value of more than limit bytes, which only aliases can make of a text that has less, is an
// error.
func parseYAML(text string, limit int, words *vocabulary) (v any, ok bool, err error) {
	if blank(text) {
		return nil, false, nil
	}
	if v, ok := readPlain(text, words, words); ok {
		return v, true, nil
	}
	doc, err := decode(text)
	if err != nil {
		return nil, false, atLine(text, err)
	}
	c := converter{limit: limit, left: limit}
	v, err = c.value(doc)
	if err != nil {
		return nil, false, fmt.Errorf("yaml: %w", err)
	}
	return v, true, nil
}

// otherBreaks end a line of YAML, and with it a comment, beside the usual one.
const otherBreaks = "\r\u0085\u2028\u2029"

// blank reports whether the text has nothing but space, comments and document markers.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		comment := strings.HasPrefix(content, "#") && !strings.ContainsAny(content, otherBreaks)
		marker := strings.HasPrefix(line, content) && (content == "---" || content == "...")
		if content != "" && !comment && !marker {
			return false
		}
	}
	return true
}

func decode(text string) (doc any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	err = yaml.Unmarshal([]byte(text), &doc)
	return doc, err
}

// atLine shows the line that the error names: nobody else sees the rendered text.
func atLine(text string, err error) error {
	what, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if _, scan := fmt.Sscanf(what, "line %d:", &line); scan == nil {
		_, what, _ = strings.Cut(what, ": ")
	} else if strings.Contains(text, "\n") {
		return err
	}
	return &reworded{fmt.Sprintf("yaml: rendered line %d, %q: %s", line, lineOf(text, line, 120), what), err}
}

// converter makes JSON values of what the decoder returns.
type converter struct{ limit, left int }

// size takes the bytes of a value off the limit.
func (c *converter) size(bytes int) error {
	if c.left -= bytes; c.left < 0 {
		return &limitError{c.limit, "bytes of values"}
	}
	return nil
}

func (c *converter) value(v any) (any, error) {
	if err := c.size(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return valid(v), c.size(len(v))
	case nil, bool:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		return jsonNumber(v)
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
		return valid(k), c.size(len(k))
	case int:
		return strconv.Itoa(k), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		return floatKey(k), nil
	}
	return "", fmt.Errorf("unsupported key of type %v", reflect.TypeOf(k))
}

func floatKey(f float64) string {
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}

// jsonNumber reads back what JSON would print: a float without a fraction is an integer.
func jsonNumber(f float64) (any, error) {
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
