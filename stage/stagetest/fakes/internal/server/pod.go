package server

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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
	pod, err := s.Cluster.Get(ctx, pods, name)
	if err != nil {
		return err
	}
	found, err := s.Cluster.List(ctx, budgets, name.Namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, b := range found.Items {
		if err := s.spend(ctx, &b, pod); err != nil {
			return err
		}
	}
	var o metav1.DeleteOptions
	if given, ok := eviction.Object["deleteOptions"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &o); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return s.Cluster.Delete(ctx, pods, name, o)
}

// spend decrements disruptionsAllowed of a budget that covers a ready Pod.
func (s Server) spend(ctx context.Context, budget, pod *unstructured.Unstructured) error {
	selector, _, _ := unstructured.NestedMap(budget.Object, "spec", "selector")
	var given metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &given); err != nil {
		return err
	}
	covers, err := metav1.LabelSelectorAsSelector(&given)
	if err != nil || !covers.Matches(labels.Set(pod.GetLabels())) {
		return err
	}
	allowed, _, _ := unstructured.NestedInt64(budget.Object, "status", "disruptionsAllowed")
	if allowed < 1 {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"disruptionsAllowed":%d}}`, budget.GetResourceVersion(), allowed-1)
	name := types.NamespacedName{Namespace: budget.GetNamespace(), Name: budget.GetName()}
	_, err = s.Cluster.Patch(ctx, budgets, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
