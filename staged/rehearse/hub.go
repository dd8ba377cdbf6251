package rehearse

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A hub holds the workload and the BindingPolicies, and does what KubeStellar does with them.
type hub struct {
	objects  map[staged.ObjectRef]*unstructured.Unstructured
	refs     []staged.ObjectRef // in the order of the input
	policies map[string]*control.BindingPolicy
	created  int // counts uids
	labels   map[string]map[string]string
}

func newHub(in Input) (hub, error) {
	h := hub{objects: map[staged.ObjectRef]*unstructured.Unstructured{}, policies: map[string]*control.BindingPolicy{}, labels: map[string]map[string]string{}}
	for i, obj := range in.Objects {
		fields, err := clone(obj.Object)
		if err != nil {
			return h, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		stored := &unstructured.Unstructured{Object: fields}
		if stored.GetUID() == "" {
			stored.SetUID(types.UID(fmt.Sprintf("object-%d", i)))
		}
		resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
		ref := staged.ObjectRef{Group: resource.Group, Resource: resource.Resource, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		h.objects[ref] = stored
		h.refs = append(h.refs, ref)
	}
	for _, c := range in.Clusters {
		h.labels[c.Name] = c.Labels
		if c.Labels == nil {
			h.labels[c.Name] = map[string]string{}
		}
	}
	return h, nil
}

// clone copies an object of a caller, whose numbers may be of any Go type.
func clone(fields map[string]any) (out map[string]any, err error) {
	raw, err := json.Marshal(fields)
	if err == nil {
		err = utiljson.Unmarshal(raw, &out)
	}
	return out, err
}

// ensure stores a BindingPolicy. It reports whether it is new.
func (h *hub) ensure(p *control.BindingPolicy) bool {
	stored := *p
	old := h.policies[p.Name]
	if old != nil {
		stored.UID = old.UID
	} else {
		h.created++
		stored.UID = types.UID(fmt.Sprintf("policy-%d", h.created))
	}
	h.policies[p.Name] = &stored
	return old == nil
}

// inventory is what BindingPolicies choose from.
func (h *hub) inventory() kubestellar.Inventory {
	in := kubestellar.Inventory{Clusters: h.labels, Namespaces: kubestellar.Namespaces{}}
	for _, ref := range h.refs {
		obj := h.objects[ref]
		kind := obj.GroupVersionKind()
		in.Objects = append(in.Objects, kubestellar.Object{
			Group: kind.Group, Version: kind.Version, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name,
			Labels: obj.GetLabels(), ResourceVersion: obj.GetResourceVersion(),
		})
		if kind.Group == "" && kind.Kind == "Namespace" {
			in.Namespaces[ref.Name] = obj.GetLabels()
		}
	}
	return in
}

// bindings are those of the policies, by name.
func (h *hub) bindings() ([]*control.Binding, error) {
	var all []*control.Binding
	for _, name := range slices.Sorted(maps.Keys(h.policies)) {
		b, err := kubestellar.Resolve(h.policies[name], h.inventory())
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// observe shows the rollout what is on the hub.
func (r *run) observe() {
	r.rollout.Update(r.policy, r.object.ObjectMeta)
	r.rollout.ObserveClusters(r.hub.labels)
	bindings, err := r.hub.bindings()
	if err != nil {
		return // of a selector that Compile refuses
	}
	for _, b := range bindings {
		r.rollout.ObservePolicy(r.hub.policies[b.Name])
		r.rollout.ObserveBinding(b)
		for _, clause := range slices.Concat(b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope) {
			r.observeObject(b, refOf(clause))
		}
	}
}

func (r *run) observeObject(b *control.Binding, ref staged.ObjectRef) {
	in := kubestellar.Input{Binding: b, Object: r.hub.objects[ref], Resource: ref.Resource, Collectors: r.collectors, Reports: map[string]kubestellar.Report{}}
	report := staged.Report{Policy: b.Name, Object: ref}
	for _, c := range r.clusters {
		if seen, ok := c.reported[ref]; ok {
			in.Reports[c.Name] = seen
			report.Clusters = append(report.Clusters, staged.ClusterReport{Cluster: c.Name, Reported: true, LastReturned: seen.LastUpdate, BoundAt: c.placed[ref]})
		}
	}
	r.rollout.ObserveReport(report)
	if status, ok := kubestellar.Combine(kubestellar.Upstream, in); ok {
		r.rollout.ObserveStatus(status)
	}
}
