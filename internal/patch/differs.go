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
	found, rules, replaces := unchanged, types[s.typ], false
	for name, v := range patch {
		if isDirective(name) {
			return unsure
		}
		old, has := target[name]
		switch {
		case v == nil:
			found = max(found, verdictOf(has))
		case !has && !marked(v):
			found = max(found, changed)
		case isScalar(v):
			found = max(found, verdictOf(!equalScalars(old, v)))
		case rules[name].merges(old, v):
			found = max(found, rules[name].compare(old, v))
		case marked(v):
			return unsure
		default:
			replaces = true
		}
		if found == unsure {
			return unsure
		}
	}
	if replaces && found == unchanged {
		return s.compareReplaced(target, patch)
	}
	return found
}

// compareReplaced walks the lists and maps that take the place of others: they take the longest, and mostly something else has changed too.
func (s Schema) compareReplaced(target, patch map[string]any) verdict {
	rules := types[s.typ]
	for name, v := range patch {
		old := target[name]
		if !isScalar(v) && !rules[name].merges(old, v) && !Equal(old, withoutDirectives.of(v)) {
			return changed
		}
	}
	return unchanged
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// merges reports whether a list or map of a patch merges with the old one.
func (r rule) merges(old, v any) bool {
	switch v.(type) {
	case map[string]any:
		_, ok := old.(map[string]any)
		return ok && r.strategy != replacing
	case []any:
		_, ok := old.([]any)
		return ok && r.strategy == merging
	}
	return false
}

func (r rule) compare(old, v any) verdict {
	s := Schema{r.typ}
	if v, ok := v.(map[string]any); ok {
		before, _ := old.(map[string]any)
		return s.compare(before, v)
	}
	before, _ := old.([]any)
	body, _ := v.([]any)
	return s.compareLists(before, body, r.key)
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
