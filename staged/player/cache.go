package player

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A cache holds what the watches have shown: for each StagedBindingPolicy, by its name, the objects
// that concern it, by their own names.
type cache struct {
	policies     map[string]map[string]*control.BindingPolicy
	bindings     map[string]map[string]*control.Binding
	statuses     map[string]map[types.NamespacedName]*control.CombinedStatus
	workStatuses *workStatuses // nil: WorkStatuses are not watched
}

func newCache() cache {
	return cache{map[string]map[string]*control.BindingPolicy{}, map[string]map[string]*control.Binding{},
		map[string]map[types.NamespacedName]*control.CombinedStatus{}, nil}
}

// store stores an object, or removes one that was deleted, and returns the name of the
// StagedBindingPolicy that it concerns; "" if it concerns none.
func (c cache) store(e watchEvent) (owner string, err error) {
	name := e.obj.GetName()
	switch e.kind {
	case bindingPolicyKind:
		owner = ownerOf(name)
		return owner, put(c.policies, owner, name, e)
	case bindingKind:
		owner = ownerOf(name)
		return owner, put(c.bindings, owner, name, e)
	}
	owner = ownerOf(e.obj.GetLabels()[control.StatusLabelPrefix+"binding-policy"])
	return owner, put(c.statuses, owner, nameOf(e.obj), e)
}

// ownerOf returns the name of the StagedBindingPolicy that is part of the name of a BindingPolicy;
// "" without one.
func ownerOf(bindingPolicy string) string {
	owner, _, ok := strings.Cut(bindingPolicy, v1alpha1.StageSeparator)
	if !ok {
		return ""
	}
	return owner
}

func put[K comparable, V any](in map[string]map[K]*V, owner string, key K, e watchEvent) error {
	if owner == "" && e.kind == combinedStatusKind {
		return nil
	}
	if e.deleted {
		delete(in[owner], key)
		return nil
	}
	into := new(V)
	if err := convert(e.obj, into); err != nil {
		return err
	}
	if in[owner] == nil {
		in[owner] = map[K]*V{}
	}
	in[owner][key] = into
	return nil
}

// show shows a rollout the stored state of the object of an event, or that it is gone.
func (c cache) show(e watchEvent, r *bindingpolicy.Rollout) {
	name := e.obj.GetName()
	switch e.kind {
	case bindingPolicyKind:
		if p := c.policies[ownerOf(name)][name]; p != nil {
			r.ObserveBindingPolicy(p)
		} else {
			r.ForgetBindingPolicy(name)
		}
	case bindingKind:
		if b := c.bindings[ownerOf(name)][name]; b != nil {
			r.ObserveBinding(b)
			c.workStatuses.showAll(name, r)
		} else {
			r.ForgetBinding(name)
		}
	case combinedStatusKind:
		var status control.CombinedStatus
		status.Name, status.Namespace, status.Labels = name, e.obj.GetNamespace(), e.obj.GetLabels()
		if s := c.statuses[ownerOf(status.Labels[control.StatusLabelPrefix+"binding-policy"])][nameOf(e.obj)]; s != nil {
			r.ObserveStatus(s)
		} else {
			r.ForgetStatus(&status)
		}
	}
}

// showAll shows a rollout all objects that concern its StagedBindingPolicy.
func (c cache) showAll(owner string, r *bindingpolicy.Rollout) {
	for _, p := range c.policies[owner] {
		r.ObserveBindingPolicy(p)
	}
	for name, b := range c.bindings[owner] {
		r.ObserveBinding(b)
		c.workStatuses.showAll(name, r)
	}
	for _, s := range c.statuses[owner] {
		r.ObserveStatus(s)
	}
	for other := range c.bindings {
		for _, b := range c.bindings[other] {
			if other != owner {
				r.ObserveBinding(b)
			}
		}
	}
	for other := range c.policies {
		for _, p := range c.policies[other] {
			if other != owner {
				r.ObserveBindingPolicy(p)
			}
		}
	}
}
