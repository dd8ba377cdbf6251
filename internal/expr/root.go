package expr

import "github.com/itchyny/gojq"

// A root is where an expression begins to follow fields: the object, or one of the fields that all objects of Kubernetes have. A Scope reads these
// once for all expressions.
type root int

const (
	whole root = iota
	metadata
	spec
	status
	roots
)

var rootNames = [roots]string{metadata: "metadata", spec: "spec", status: "status"}

// rootOf returns the root with the name of a field.
func rootOf(field string) (root, bool) {
	for r := whole + 1; r < roots; r++ {
		if rootNames[r] == field {
			return r, true
		}
	}
	return whole, false
}

// rootValue is what the object has at a root, once it was read.
type rootValue struct {
	value       any
	there, read bool
}

// root returns what is at a root, and whether it is there.
func (s *Scope) root(r root) (any, bool) {
	if r == whole {
		return s.Object, true
	}
	v := &s.roots[r]
	if !v.read {
		v.value, v.there = s.Object[rootNames[r]]
		v.read = true
	}
	return v.value, v.there
}

// beheaded splits the root off a jq program that begins with one: .status.phase is .phase at .status.
func beheaded(q *gojq.Query) (root, *gojq.Query) {
	rest := *q
	switch {
	case !plainQuery(q):
		return whole, q
	case q.Op == gojq.OpPipe && q.Term == nil:
		r, left := beheaded(q.Left)
		rest.Left = left
		return r, &rest
	case q.Term == nil || q.Term.Type != gojq.TermTypeIndex:
		return whole, q
	}
	r, ok := rootOf(q.Term.Index.Name)
	suffixes := q.Term.SuffixList
	if !ok || len(suffixes) > 0 && suffixes[0].Optional {
		return whole, q
	}
	rest.Term = &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: suffixes}
	return r, &rest
}
