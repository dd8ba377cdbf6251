package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Bind assigns a Pod to the Node that a Binding names, like the subresource binding of an API
// server. One write sets the Node, the condition PodScheduled, and the labels and annotations of
// the Binding. If the Binding has a uid or a resourceVersion, it must equal the Pod's. The error is
// a Conflict if the Pod has a Node or scheduling gates, or is being deleted.
func (c *Cluster) Bind(ctx context.Context, pod types.NamespacedName, binding *unstructured.Unstructured, o metav1.CreateOptions) error {
	r := request{
		ctx:     ctx,
		Request: Request{Verb: "create", Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: pod, Subresource: "binding"},
		dryRun:  len(o.DryRun) > 0,
		special: true,
	}
	_, err := c.write(r, func(r *request) (*unstructured.Unstructured, error) { return r.bind(binding) })
	return err
}

func (r *request) bind(binding *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	node, _ := object.String(binding.Object, "target", "name")
	if node == "" {
		return nil, apierrors.NewBadRequest("target.name: Required value")
	}
	old, err := r.stored()
	if err != nil {
		return nil, err
	}
	pod := old.object()
	if err := r.checkBinding(pod, binding); err != nil {
		return nil, err
	}
	spec, _ := object.Map(pod.Object, "spec")
	next := withField(pod.Object, "spec", withField(spec, "nodeName", node))
	next["status"] = r.scheduled(pod.Object)
	metadata := maps.Clone(metadataOf(pod.Object))
	for _, field := range []string{"labels", "annotations"} {
		given, _ := object.Map(binding.Object, "metadata", field)
		addTo(metadata, field, given)
	}
	next["metadata"] = metadata
	return r.replace(old, next)
}

// addTo adds members to a copy of a map in metadata.
func addTo(metadata map[string]any, field string, members map[string]any) {
	if len(members) == 0 {
		return
	}
	old, _ := metadata[field].(map[string]any)
	all := map[string]any{}
	maps.Copy(all, old)
	maps.Copy(all, members)
	metadata[field] = all
}

func (r *request) checkBinding(pod, binding *unstructured.Unstructured) error {
	bound, _ := object.String(pod.Object, "spec", "nodeName")
	gates, _ := object.Slice(pod.Object, "spec", "schedulingGates")
	uid, version := binding.GetUID(), binding.GetResourceVersion()
	refused := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, r.Name.Name, fmt.Errorf(format, args...))
	}
	switch {
	case uid != "" && uid != pod.GetUID():
		return refused("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, pod.GetUID())
	case version != "" && version != pod.GetResourceVersion():
		return refused("Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", version, pod.GetResourceVersion())
	case pod.GetDeletionTimestamp() != nil:
		return refused("pod %s is being deleted, cannot be assigned to a host", r.Name.Name)
	case bound != "":
		return refused("pod %s is already assigned to node %q", r.Name.Name, bound)
	case len(gates) > 0:
		return refused("pod %s has non-empty .spec.schedulingGates", r.Name.Name)
	}
	return nil
}

// scheduled returns the status of a Pod that has a Node.
func (r *request) scheduled(pod map[string]any) map[string]any {
	status, _ := object.Map(pod, "status")
	list, _ := object.Slice(status, "conditions")
	list = slices.Clone(list)
	condition := map[string]any{"type": "PodScheduled", "status": "True", "lastTransitionTime": r.timestamp(0)}
	at := slices.IndexFunc(list, func(v any) bool {
		c, _ := object.ToMap(v)
		return c["type"] == "PodScheduled"
	})
	if at < 0 {
		return withField(status, "conditions", append(list, condition))
	}
	list[at] = condition
	return withField(status, "conditions", list)
}
