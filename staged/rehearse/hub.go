package rehearse

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A hub holds the workload and the BindingPolicies, and computes what KubeStellar makes of them.
type hub struct {
	objects    map[fleet.ObjectRef]*unstructured.Unstructured
	policies   map[string]*control.BindingPolicy
	collectors map[string]*kubestellar.Collector
	labels     map[string]map[string]string // of the clusters
	members    []*member                    // by name
	created    int                          // counts uids
}

// ensure stores a BindingPolicy. It reports whether it is new, and whether anything changed.
func (h *hub) ensure(p *control.BindingPolicy) (isNew, changed bool) {
	stored := *p
	old := h.policies[p.Name]
	if old != nil {
		stored.UID = old.UID
		if reflect.DeepEqual(&stored, old) {
			return false, false
		}
	} else {
		h.created++
		stored.UID = types.UID(fmt.Sprintf("policy-%06d", h.created))
	}
	h.policies[p.Name] = &stored
	return old == nil, true
}

// inventory returns what BindingPolicies choose from.
func (h *hub) inventory() kubestellar.Inventory {
	in := kubestellar.Inventory{Clusters: h.labels, Namespaces: kubestellar.Namespaces{}}
	for ref, obj := range h.objects {
		in.Objects = append(in.Objects, kubestellar.Object{
			Group: ref.Group, Version: obj.GroupVersionKind().Version, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name,
			Labels: obj.GetLabels(), ResourceVersion: obj.GetResourceVersion(),
		})
		if ref.Group == "" && ref.Resource == "namespaces" {
			in.Namespaces[ref.Name] = obj.GetLabels()
		}
	}
	return in
}

// bindings returns the Bindings of the BindingPolicies, sorted by name. The error joins one for
// each BindingPolicy that has no Binding because its selectors are invalid.
func (h *hub) bindings() (all []*control.Binding, err error) {
	inventory := h.inventory()
	for _, name := range slices.Sorted(maps.Keys(h.policies)) {
		b, fault := kubestellar.Resolve(h.policies[name], inventory)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("BindingPolicy %s: %w", name, fault))
			continue
		}
		all = append(all, b)
	}
	return all, err
}

// wanted returns the objects that Bindings send to a cluster.
func (h *hub) wanted(bindings []*control.Binding, cluster string) map[fleet.ObjectRef]wantedObject {
	wanted := map[fleet.ObjectRef]wantedObject{}
	for _, b := range bindings {
		if !slices.Contains(b.Spec.Destinations, control.Destination{ClusterID: cluster}) {
			continue
		}
		for _, c := range clauses(b) {
			ref := refOf(c)
			before, known := wanted[ref]
			wanted[ref] = wantedObject{h.objects[ref], c.CreateOnly && (!known || before.createOnly)}
		}
	}
	return wanted
}

func clauses(b *control.Binding) []control.DownsyncClause {
	return slices.Concat(b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope)
}

func refOf(c control.DownsyncClause) fleet.ObjectRef {
	return fleet.ObjectRef{Group: c.Group, Resource: c.Resource, Namespace: c.Namespace, Name: c.Name}
}

// combine computes the CombinedStatus of an object of a Binding. It is false without one.
func (h *hub) combine(b *control.Binding, ref fleet.ObjectRef) (*control.CombinedStatus, bool) {
	in := kubestellar.Input{
		Binding: b, Object: h.objects[ref], Resource: ref.Resource, Collectors: h.collectors,
		Reports: map[string]kubestellar.Report{},
	}
	for _, m := range h.members {
		if seen, ok := m.reported[ref]; ok {
			in.Reports[m.name] = seen
		}
	}
	return kubestellar.Combine(kubestellar.Upstream, in)
}

// report returns which clusters reported an object of a Binding, and when.
func (h *hub) report(b *control.Binding, ref fleet.ObjectRef) bindingpolicy.Report {
	report := bindingpolicy.Report{BindingPolicy: b.Name, Object: ref}
	for _, m := range h.members {
		if seen, ok := m.reported[ref]; ok {
			report.Clusters = append(report.Clusters, fleet.ClusterReport{
				Cluster: m.name, Reported: true, LastReturned: seen.LastUpdate, BoundAt: m.created[ref].at,
			})
		}
	}
	return report
}
