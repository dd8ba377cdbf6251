package server

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// bind assigns a Pod to a node, as a Binding asks for.
func (s Server) bind(ctx context.Context, name types.NamespacedName, binding *unstructured.Unstructured) error {
	pod, err := s.Cluster.Get(ctx, pods, name)
	if err != nil {
		return err
	}
	target, _, _ := unstructured.NestedString(binding.Object, "target", "name")
	bound, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	refused := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, name.Name, fmt.Errorf(format, args...))
	}
	switch {
	case target == "":
		return apierrors.NewBadRequest("target.name: Required value")
	case pod.GetDeletionTimestamp() != nil:
		return refused("pod %s is being deleted, cannot be assigned to a host", name.Name)
	case bound != "":
		return refused("pod %s is already assigned to node %q", name.Name, bound)
	}
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"nodeName":%q}}`, pod.GetResourceVersion(), target)
	if _, err := s.Cluster.Patch(ctx, pods, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	const scheduled = `{"status":{"conditions":[{"type":"PodScheduled","status":"True"}]}}`
	_, err = s.Cluster.Patch(ctx, pods, name, types.StrategicMergePatchType, []byte(scheduled), metav1.PatchOptions{}, "status")
	return err
}

// evict deletes a Pod unless a PodDisruptionBudget forbids it.
func (s Server) evict(ctx context.Context, name types.NamespacedName, eviction *unstructured.Unstructured) error {
	var o metav1.DeleteOptions
	if given, ok := eviction.Object["deleteOptions"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &o); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return s.Cluster.Evict(ctx, name, o)
}
