package wait

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// A source is one query that is listed and watched. Its objects are waited for, or are children of
// objects that are.
type source struct {
	query    ownership.Query
	members  []int32   // indexes of the waited-for objects; nil for a source of children
	children *childSet // nil for a source of waited-for objects

	err     error     // of the last list of the waited-for objects; nil: it succeeded
	failing time.Time // since when lists fail
}

// fail notes that a list failed. It reports whether the last verdicts on the objects still hold.
func (s *source) fail(err error, now time.Time) (holds bool) {
	if s.err == nil {
		s.failing = now
	}
	s.err = err
	return !isAnswer(err) && now.Sub(s.failing) < patience
}

// patience is how long the last verdict on an object holds while it cannot be looked up.
const patience = 30 * time.Second

// Above these numbers it costs less to watch a whole namespace or all namespaces than each object
// by itself.
const (
	maxNames      = 5  // objects of a kind in a namespace
	maxNamespaces = 20 // namespaces with objects of a kind
	maxSelectors  = 5  // selectors of children of a kind in a namespace
)

// plan returns the sources for the waited-for objects: each object by its name if there are few in
// a namespace, else the namespace, or all namespaces if there are many. The order is that of the
// first members.
func plan(states []State, perNamespace bool) []*source {
	names := map[ownership.Query]int{}              // by namespace
	namespaces := map[schema.GroupVersionKind]int{} // by kind
	namespace := func(s *State) ownership.Query {
		return ownership.Query{Kind: s.Ref.Kind, Namespace: s.Ref.Namespace}
	}
	for i := range states {
		q := namespace(&states[i])
		if names[q]++; names[q] == 1 {
			namespaces[q.Kind]++
		}
	}
	var sources []*source
	byQuery := map[ownership.Query]*source{}
	for i := range states {
		q := namespace(&states[i])
		switch {
		case namespaces[q.Kind] > maxNamespaces && !perNamespace:
			q.Namespace = ""
		case names[q] <= maxNames:
			q.Name = states[i].Ref.Name
		}
		if byQuery[q] == nil {
			byQuery[q] = &source{query: q}
			sources = append(sources, byQuery[q])
		}
		byQuery[q].members = append(byQuery[q].members, int32(i))
	}
	return sources
}
