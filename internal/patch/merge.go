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

// sieve leaves null members out of a value, at every depth, and shares the rest.
type sieve struct {
	directives bool // leave out directives too, and every map that has markPatch
}

var (
	withoutNulls      = sieve{}
	withoutDirectives = sieve{directives: true} // turns a part of a patch that has nothing to merge with into a plain value
)

// of returns the rest of a value that has no markPatch itself.
func (s sieve) of(v any) any {
	kept, _ := s.sift(v)
	return kept
}

// remains says which part of a value stays.
type remains byte

const (
	all remains = iota
	some
	nothing
)

func (s sieve) sift(v any) (any, remains) {
	switch v := v.(type) {
	case map[string]any:
		return s.object(v)
	case []any:
		return s.list(v)
	default:
		return v, all
	}
}

func (s sieve) object(m map[string]any) (map[string]any, remains) {
	out := draft{m: m}
	for key, v := range m {
		if s.directives && isDirective(key) {
			if key == markPatch {
				return nil, nothing
			}
			v = nil
		}
		if v == nil {
			out.own()
			delete(out.m, key)
			continue
		}
		switch kept, left := s.sift(v); left {
		case some:
			out.own()
			out.m[key] = kept
		case nothing:
			out.own()
			delete(out.m, key)
		}
	}
	if out.owned {
		return out.m, some
	}
	return m, all
}

// list copies nothing until the first element that changes.
func (s sieve) list(l []any) ([]any, remains) {
	var out []any
	for i, v := range l {
		kept, left := s.sift(v)
		if out == nil && left != all {
			out = append(make([]any, 0, len(l)), l[:i]...)
		}
		if out != nil && left != nothing {
			out = append(out, kept)
		}
	}
	if out == nil {
		return l, all
	}
	return out, some
}
