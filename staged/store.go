package staged

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// A store holds what a Player has seen, by the name of the StagedBindingPolicy that it concerns and its own.
type store struct {
	policies map[string]map[string]*control.BindingPolicy
	bindings map[string]map[string]*control.Binding
	statuses map[string]map[types.NamespacedName]*control.CombinedStatus
	works    *works // nil: WorkStatuses are not watched
}

func newStore() store {
	return store{map[string]map[string]*control.BindingPolicy{}, map[string]map[string]*control.Binding{},
		map[string]map[types.NamespacedName]*control.CombinedStatus{}, nil}
}

// take keeps an object, or forgets it, and returns the StagedBindingPolicy it concerns.
func (s store) take(n news) (owner string, err error) {
	name := n.obj.GetName()
	switch n.kind {
	case policyKind:
		owner = ownerOf(name)
		return owner, keep(s.policies, owner, name, n)
	case bindingKind:
		owner = ownerOf(name)
		return owner, keep(s.bindings, owner, name, n)
	}
	owner = ownerOf(n.obj.GetLabels()[labelPrefix+"binding-policy"])
	return owner, keep(s.statuses, owner, nameOf(n.obj), n)
}

// ownerOf is the name of the StagedBindingPolicy in that of a BindingPolicy; "" if there is none.
func ownerOf(name string) string {
	owner, _, ok := strings.Cut(name, separator)
	if !ok {
		return ""
	}
	return owner
}

func keep[K comparable, V any](in map[string]map[K]*V, owner string, key K, n news) error {
	if owner == "" {
		return nil
	}
	if n.gone {
		delete(in[owner], key)
		return nil
	}
	into := new(V)
	if err := convert(n.obj, into); err != nil {
		return err
	}
	if in[owner] == nil {
		in[owner] = map[K]*V{}
	}
	in[owner][key] = into
	return nil
}

// show shows one object to a rollout, as it is stored.
func (s store) show(n news, r *Rollout) {
	name := n.obj.GetName()
	switch n.kind {
	case policyKind:
		if p := s.policies[ownerOf(name)][name]; p != nil {
			r.ObservePolicy(p)
		} else {
			r.ForgetPolicy(name)
		}
	case bindingKind:
		if b := s.bindings[ownerOf(name)][name]; b != nil {
			r.ObserveBinding(b)
			s.works.showBound(name, r)
		} else {
			r.ForgetBinding(name)
		}
	case statusKind:
		var status control.CombinedStatus
		status.Name, status.Namespace, status.Labels = name, n.obj.GetNamespace(), n.obj.GetLabels()
		if c := s.statuses[ownerOf(status.Labels[labelPrefix+"binding-policy"])][nameOf(n.obj)]; c != nil {
			r.ObserveStatus(c)
		} else {
			r.ForgetStatus(&status)
		}
	}
}

// showAll shows a rollout all that concerns it.
func (s store) showAll(owner string, r *Rollout) {
	for _, p := range s.policies[owner] {
		r.ObservePolicy(p)
	}
	for name, b := range s.bindings[owner] {
		r.ObserveBinding(b)
		s.works.showBound(name, r)
	}
	for _, c := range s.statuses[owner] {
		r.ObserveStatus(c)
	}
}
