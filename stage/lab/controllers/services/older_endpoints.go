package services

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

const (
	headlessLabel           = "service.kubernetes.io/headless"
	endpointsManagedByLabel = "endpoints.kubernetes.io/managed-by"
	endpointsManager        = "endpoint-controller"
	headless                = "None" // as a cluster IP

	// most is how many addresses Endpoints have; overCapacityKey says that there are more.
	most            = 1000
	overCapacityKey = "endpoints.kubernetes.io/over-capacity"
	overCapacity    = "truncated"
)

// An endpointsWriter writes the Endpoints of one Service, which have its name. They have no owner:
// the controller deletes them after the Service.
type endpointsWriter struct {
	control.Call
	service     *unstructured.Unstructured
	triggerTime string // like the field of a sliceWriter
}

func deleteEndpoints(c control.Call, name types.NamespacedName) error {
	if old := c.Cache.Get(kinds.Endpoints, name); old != nil {
		return c.Delete(old)
	}
	return nil
}

func (w endpointsWriter) isMissing() bool {
	return w.Cache.Get(kinds.Endpoints, control.NameOf(w.service)) == nil
}

func (w endpointsWriter) sync(groups []*portGroup) error {
	subsets, truncated := subsetsOf(groups)
	old := w.Cache.Get(kinds.Endpoints, control.NameOf(w.service))
	if old == nil {
		return w.create(subsets, truncated)
	}
	labels := changedLabels(old, w.labels())
	if object.DeepEqual(fields.Slice(old.Object, "subsets"), subsets) && len(labels) == 0 && (fields.Annotation(old, overCapacityKey) != "") == truncated {
		return nil
	}
	change := map[string]any{"subsets": orNull(subsets), "metadata": changedMetadata(labels, w.triggerTime)}
	if annotations := fields.Map(change, "metadata", "annotations"); truncated {
		annotations[overCapacityKey] = overCapacity
	} else {
		annotations[overCapacityKey] = nil
	}
	_, err := w.MergeValues(old, change)
	return err
}

func (w endpointsWriter) create(subsets []any, truncated bool) error {
	e := control.NewObject(kinds.Endpoints, w.service.GetNamespace(), w.service.GetName())
	control.Metadata(e)["labels"] = w.labels()
	annotations := map[string]any{}
	if w.triggerTime != "" {
		annotations[triggerTimeKey] = w.triggerTime
	}
	if truncated {
		annotations[overCapacityKey] = overCapacity
	}
	if len(annotations) > 0 {
		control.Metadata(e)["annotations"] = annotations
	}
	if subsets != nil {
		e.Object["subsets"] = subsets
	}
	_, err := w.Create(e)
	return err
}

func (w endpointsWriter) labels() map[string]any {
	labels := labelsOfService(w.service)
	labels[endpointsManagedByLabel] = endpointsManager
	return labels
}

// labelsOfService are the labels that a Service hands on to its Endpoints and EndpointSlices.
func labelsOfService(service *unstructured.Unstructured) map[string]any {
	labels := fields.CloneMap(service.Object, "metadata", "labels")
	delete(labels, headlessLabel)
	if ip := fields.String(service.Object, "spec", "clusterIP"); ip == "" || ip == headless {
		labels[headlessLabel] = ""
	}
	return labels
}

// changedLabels are the labels for a merge patch. A label that must be deleted is null.
func changedLabels(old *unstructured.Unstructured, next map[string]any) map[string]any {
	return changedKeys(fields.Map(old.Object, "metadata", "labels"), next)
}

// changedKeys is the change of labels or annotations for a merge patch.
func changedKeys(before, next map[string]any) map[string]any {
	change := map[string]any{}
	for key, v := range next {
		if before[key] != v {
			change[key] = v
		}
	}
	for key := range before {
		if _, kept := next[key]; !kept {
			change[key] = nil
		}
	}
	return change
}

// changedMetadata is the metadata for a merge patch of Endpoints or EndpointSlices.
func changedMetadata(labels map[string]any, triggerTime string) map[string]any {
	var at any // null deletes the annotation
	if triggerTime != "" {
		at = triggerTime
	}
	metadata := map[string]any{"annotations": map[string]any{triggerTimeKey: at}}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	return metadata
}

// A subset is the addresses of Pods that have the same ports.
type subset struct {
	ports           []any
	ready, notReady []any
}

// subsetsOf returns the subsets of Endpoints, in the order of their first Pods, and whether Pods had to be
// left out.
func subsetsOf(groups []*portGroup) (list []any, truncated bool) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g *portGroup) bool { return len(g.members) == 0 })
	slices.SortFunc(groups, func(a, b *portGroup) int { return cmp.Compare(a.members[0].name, b.members[0].name) })
	var subsets []*subset
	for _, g := range groups {
		subsets = append(subsets, subsetOf(g))
	}
	truncated = truncate(subsets)
	for _, s := range subsets {
		if m := s.object(); m != nil {
			list = append(list, m)
		}
	}
	return list, truncated
}

func subsetOf(g *portGroup) *subset {
	s := &subset{ports: g.ports}
	for _, m := range g.members {
		switch {
		case m.ready:
			s.ready = append(s.ready, m.address)
		case !m.terminating:
			s.notReady = append(s.notReady, m.address)
		}
	}
	return s
}

// truncate leaves out addresses, as kube-controller-manager does: first addresses that are not ready;
// each subset keeps a part in proportion to its number, rounded up.
func truncate(subsets []*subset) bool {
	ready, notReady := 0, 0
	for _, s := range subsets {
		ready, notReady = ready+len(s.ready), notReady+len(s.notReady)
	}
	switch {
	case ready+notReady <= most:
		return false
	case ready <= most:
		keep(subsets, func(s *subset) *[]any { return &s.notReady }, notReady, most-ready)
		return true
	}
	keep(subsets, func(s *subset) *[]any { return &s.ready }, ready, most)
	for _, s := range subsets {
		s.notReady = nil
	}
	return true
}

// keep shortens lists that have total addresses together to a number.
func keep(subsets []*subset, of func(*subset) *[]any, total, n int) {
	left := n
	for _, s := range subsets {
		list := of(s)
		part := min((len(*list)*n+total-1)/total, left)
		*list, left = (*list)[:part], left-part
	}
}

func (s *subset) object() map[string]any {
	if len(s.ready)+len(s.notReady) == 0 {
		return nil
	}
	m := map[string]any{}
	if len(s.ready) > 0 {
		m["addresses"] = s.ready
	}
	if len(s.notReady) > 0 {
		m["notReadyAddresses"] = s.notReady
	}
	if len(s.ports) > 0 {
		m["ports"] = withoutEmptyNames(s.ports)
	}
	return m
}

func address(service *unstructured.Unstructured, p pods.Pod) map[string]any {
	a := map[string]any{"ip": podIP(p), "targetRef": podRef(p)}
	if node := p.NodeName(); node != "" {
		a["nodeName"] = node
	}
	if host := hostname(service, p); host != "" {
		a["hostname"] = host
	}
	return a
}

// hostname is the name of a Pod in the domain of a Service, or "".
func hostname(service *unstructured.Unstructured, p pods.Pod) string {
	if fields.String(p.Object, "spec", "subdomain") != service.GetName() {
		return ""
	}
	return fields.String(p.Object, "spec", "hostname")
}

// withoutEmptyNames leaves out names that are "": Endpoints do, and EndpointSlices do not.
func withoutEmptyNames(ports []any) []any {
	bare := make([]any, len(ports))
	for i, v := range ports {
		port, _ := object.ToMap(v)
		if port = maps.Clone(port); fields.Value(port, "name") == "" {
			delete(port, "name")
		}
		bare[i] = port
	}
	return bare
}
