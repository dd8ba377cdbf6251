package patch

// Differs reports whether [Strategic] would change the target, without making what it would become. It is not sure if the patch has directives, faults,
// or lists whose elements are new or in another order: Strategic can tell.
func Differs(s Schema, target, patch map[string]any) (differs, sure bool) {
	v := s.compare(target, patch)
	return v == changed, v != unsure
}

// verdict is what is known of a part of a patch. The greatest one of the parts is that of the whole.
type verdict byte

const (
	unchanged verdict = iota
	changed
	unsure
)

func verdictOf(differs bool) verdict {
	if differs {
		return changed
	}
	return unchanged
}

func (s Schema) compare(target, patch map[string]any) verdict {
	all, rules := unchanged, types[s.typ]
	for name, v := range patch {
		if isDirective(name) {
			return unsure
		}
		old, has := target[name]
		if !has && v != nil && !marked(v) {
			all = max(all, changed)
			continue
		}
		if all = max(all, rules[name].compare(old, has, v)); all == unsure {
			break
		}
	}
	return all
}

func (r rule) compare(old any, has bool, v any) verdict {
	switch v := v.(type) {
	case nil:
		return verdictOf(has)
	case map[string]any:
		if old, ok := old.(map[string]any); ok && r.strategy != replacing {
			return Schema{r.typ}.compare(old, v)
		}
	case []any:
		if old, ok := old.([]any); ok && r.strategy == merging {
			return Schema{r.typ}.compareLists(old, v, r.key)
		}
	}
	if marked(v) {
		return unsure
	}
	return verdictOf(!Equal(old, withoutDirectives.of(v)))
}

func (s Schema) compareLists(old, patch []any, key string) verdict {
	var few [8]int
	at, ok := places(few[:0], old, patch, key)
	if !ok {
		return unsure
	}
	all := unchanged
	for i, place := range at {
		before, _ := old[place].(map[string]any)
		body, _ := patch[i].(map[string]any)
		all = max(all, s.compare(before, body))
	}
	return all
}
