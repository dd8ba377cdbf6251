package patch

// Merge applies a JSON merge patch (RFC 7386). As in the API server's library,
// null members are dropped inside lists too, where the RFC keeps them, unless the
// list takes the place of an object.
func Merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	t, onObject := target.(map[string]any)
	switch {
	case ok && onObject:
		return mergeObject(t, p)
	case onObject:
		return patch
	default:
		return withoutNulls.of(patch)
	}
}

func mergeObject(target, patch map[string]any) map[string]any {
	out := draft{m: target}
	for key, v := range patch {
		if v == nil {
			out.remove(key)
			continue
		}
		out.set(key, Merge(target[key], v))
	}
	return out.m
}

// sieve leaves out parts of a value and shares the rest.
type sieve struct {
	member  func(key string, v any) bool // true: leave this member of an object out
	element func(v any) bool             // true: leave this element of a list out
}

var withoutNulls = sieve{
	member:  func(_ string, v any) bool { return v == nil },
	element: func(any) bool { return false },
}

func (s sieve) of(v any) any {
	kept, _ := s.sift(v)
	return kept
}

// sift returns what is left of a value, and whether that is less.
func (s sieve) sift(v any) (kept any, less bool) {
	switch v := v.(type) {
	case map[string]any:
		return s.object(v)
	case []any:
		return s.list(v)
	default:
		return v, false
	}
}

func (s sieve) object(m map[string]any) (map[string]any, bool) {
	out := draft{m: m}
	for key, v := range m {
		if s.member(key, v) {
			out.own()
			delete(out.m, key)
			continue
		}
		if kept, less := s.sift(v); less {
			out.own()
			out.m[key] = kept
		}
	}
	return out.m, out.owned
}

// list copies nothing until the first element that changes.
func (s sieve) list(l []any) ([]any, bool) {
	var out []any
	for i, v := range l {
		drop := s.element(v)
		kept, less := v, false
		if !drop {
			kept, less = s.sift(v)
		}
		if out == nil && (drop || less) {
			out = append(make([]any, 0, len(l)), l[:i]...)
		}
		if out != nil && !drop {
			out = append(out, kept)
		}
	}
	if out == nil {
		return l, false
	}
	return out, true
}
