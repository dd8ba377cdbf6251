package wait

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// A source is a place that a feed follows, and what is known of the objects there: of those that are waited for, or of the children.
type source struct {
	place   ownership.Place
	members []int32 // the objects that are waited for; nil for a source of children
	kids    *kids   // nil for a source of objects that are waited for
}

// Beyond these numbers it costs less to follow everything of a kind than each place by itself.
const (
	maxNames      = 5  // in a namespace
	maxNamespaces = 20 // of a kind
	maxSelectors  = 5  // of children of a kind in a namespace
)

// plan finds the places where objects are looked for: each by its name if they are few in a namespace, else the namespace, or all
// namespaces if there are many. It returns the members of each place, and the places in the order of their first member.
func plan(states []State, perNamespace bool) []*source {
	names := map[ownership.Place]int{}              // by namespace
	namespaces := map[schema.GroupVersionKind]int{} // by kind
	namespace := func(s *State) ownership.Place { return ownership.Place{Kind: s.Ref.Kind, Namespace: s.Ref.Namespace} }
	for i := range states {
		p := namespace(&states[i])
		if names[p]++; names[p] == 1 {
			namespaces[p.Kind]++
		}
	}
	var sources []*source
	at := map[ownership.Place]*source{}
	for i := range states {
		p := namespace(&states[i])
		switch {
		case namespaces[p.Kind] > maxNamespaces && !perNamespace:
			p.Namespace = ""
		case names[p] <= maxNames:
			p.Name = states[i].Ref.Name
		}
		if at[p] == nil {
			at[p] = &source{place: p}
			sources = append(sources, at[p])
		}
		at[p].members = append(at[p].members, int32(i))
	}
	return sources
}
