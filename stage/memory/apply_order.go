package memory

import (
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// inApplyOrder orders the lists of an object as server-side apply does: in the order of the
// configuration that was applied, and elements that the configuration does not have stay where they
// were. The object is not changed; the result is a new one.
func inApplyOrder(s patch.Schema, before, config, next map[string]any) map[string]any {
	out := maps.Clone(next)
	for name, v := range next {
		switch wanted := config[name].(type) {
		case map[string]any:
			old, _ := before[name].(map[string]any)
			if m, ok := v.(map[string]any); ok {
				out[name] = inApplyOrder(s.Field(name), old, wanted, m)
			}
		case []any:
			key, merges := s.MergeKey(name)
			old, _ := before[name].([]any)
			if list, ok := v.([]any); ok && merges {
				out[name] = elements{s.Field(name), key}.inApplyOrder(old, wanted, list)
			}
		}
	}
	return out
}

// elements says how the elements of a list are identified.
type elements struct {
	schema patch.Schema
	key    string // "" if an element is identified by its value
}

func (e elements) id(v any) string {
	if m, ok := object.ToMap(v); ok && e.key != "" {
		v = m[e.key]
	}
	return encode(v)
}

func (e elements) ids(list []any) []string {
	ids := make([]string, len(list))
	for i, v := range list {
		ids[i] = e.id(v)
	}
	return ids
}

func (e elements) inApplyOrder(before, config, next []any) []any {
	ids, old, wanted := e.ids(next), e.ids(before), e.ids(config)
	at := func(ids []string, list []any, id string) map[string]any {
		if i := slices.Index(ids, id); i >= 0 {
			m, _ := list[i].(map[string]any)
			return m
		}
		return nil
	}
	out := make([]any, 0, len(next))
	for _, id := range interleave(old, wanted) {
		i := slices.Index(ids, id)
		if i < 0 {
			continue
		}
		v := next[i]
		if m, ok := v.(map[string]any); ok {
			v = inApplyOrder(e.schema, at(old, before, id), at(wanted, config, id), m)
		}
		out = append(out, v)
	}
	if len(out) != len(next) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		return next // several elements have the same key
	}
	return out
}

// interleave merges two orders. The second one decides; an element that only the first has comes
// before the next element that both have.
func interleave(first, second []string) (out []string) {
	for i, j := 0, 0; i < len(first) || j < len(second); {
		shared := slices.IndexFunc(second[j:], func(id string) bool { return slices.Contains(first, id) })
		switch {
		case i < len(first) && !slices.Contains(second, first[i]):
			out = append(out, first[i])
			i++
		case i < len(first) && (shared < 0 || first[i] != second[j+shared]):
			i++ // it comes where the second has it
		default:
			if i < len(first) && first[i] == second[j] {
				i++
			}
			out = append(out, second[j])
			j++
		}
	}
	return out
}
