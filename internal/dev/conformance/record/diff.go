package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"sigs.k8s.io/yaml"
)

// Diff compares two values as data and returns "" or both as YAML, line by line.
func Diff(want, got any) string {
	w, g := text(want), text(got)
	if w == g {
		return ""
	}
	return lines("- ", only(w, g)) + lines("+ ", only(g, w))
}

// text prints a value as YAML, in which 1 and 1.0 are the same.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err.Error()
	}
	out, err := yaml.Marshal(plain)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// only returns the lines that a has more often than b, as often as the difference.
func only(a, b string) []string {
	count := map[string]int{}
	for line := range strings.Lines(b) {
		count[line]++
	}
	var rest []string
	for line := range strings.Lines(a) {
		if count[line]--; count[line] < 0 {
			rest = append(rest, line)
		}
	}
	return rest
}

func lines(prefix string, ls []string) string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprint(&b, prefix, l)
	}
	return b.String()
}

// Integers turns whole numbers into int64, as an API client decodes them.
func Integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = Integers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = Integers(item)
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}
