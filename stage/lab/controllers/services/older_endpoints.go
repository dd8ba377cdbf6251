package services

import (
	"maps"

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

func (w endpointsWriter) sync(groups []*portGroup) error {
	subsets := subsetsOf(w.service, groups)
	old := w.Cache.Get(kinds.Endpoints, control.NameOf(w.service))
	if old == nil {
		return w.create(subsets)
	}
	labels := changedLabels(old, w.labels())
	if object.DeepEqual(fields.Slice(old.Object, "subsets"), subsets) && len(labels) == 0 {
		return nil
	}
	change := map[string]any{"subsets": nil, "metadata": changedMetadata(labels, w.triggerTime)}
	if subsets != nil {
		change["subsets"] = subsets
	}
	_, err := w.MergePatch(old, change)
	return err
}

func (w endpointsWriter) create(subsets []any) error {
	e := control.NewObject(kinds.Endpoints, w.service.GetNamespace(), w.service.GetName())
	control.Metadata(e)["labels"] = w.labels()
	if w.triggerTime != "" {
		e.SetAnnotations(map[string]string{triggerTimeKey: w.triggerTime})
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
	change := map[string]any{}
	before := fields.Map(old.Object, "metadata", "labels")
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

func subsetsOf(service *unstructured.Unstructured, groups []*portGroup) (subsets []any) {
	for _, g := range groups {
		if s := subset(service, g); s != nil {
			subsets = append(subsets, s)
		}
	}
	return subsets
}

func subset(service *unstructured.Unstructured, g *portGroup) map[string]any {
	publish := fields.Bool(service.Object, "spec", "publishNotReadyAddresses")
	s := map[string]any{}
	for _, p := range g.pods {
		field := "notReadyAddresses"
		if publish || p.IsReady() && !p.IsTerminating() {
			field = "addresses"
		} else if p.IsTerminating() {
			continue
		}
		s[field] = append(fields.Slice(s, field), address(service, p))
	}
	if len(s) == 0 {
		return nil
	}
	if len(g.ports) > 0 {
		s["ports"] = withoutEmptyNames(g.ports)
	}
	return s
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
