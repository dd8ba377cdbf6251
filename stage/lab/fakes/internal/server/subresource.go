package server

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	pods    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	budgets = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	scales  = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
)

// scalable are the kinds that have the subresource scale.
var scalable = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "Deployment"}:  true,
	{Group: "apps", Kind: "ReplicaSet"}:  true,
	{Group: "apps", Kind: "StatefulSet"}: true,
	{Kind: "ReplicationController"}:      true,
}

// Get returns an object, or its scale.
func (s Server) Get(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	switch {
	case t.Subresource == "" || t.Subresource == "status":
		return s.Cluster.Get(ctx, t.Kind, t.Name)
	case t.Subresource == "scale" && scalable[t.Kind.GroupKind()]:
		obj, err := s.Cluster.Get(ctx, t.Kind, t.Name)
		if err != nil {
			return nil, err
		}
		return scaleOf(obj)
	}
	return nil, unknown(t)
}

// Create creates an object, binds a Pod or evicts it. It returns what an API server returns.
func (s Server) Create(ctx context.Context, t Target, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	switch {
	case t.Subresource == "":
		return s.Cluster.Create(ctx, obj, o)
	case t.Kind == pods && t.Subresource == "binding":
		return obj, s.bind(ctx, t.Name, obj)
	case t.Kind == pods && t.Subresource == "eviction":
		return obj, s.evict(ctx, t.Name, obj)
	}
	return nil, unknown(t)
}

// Update replaces an object, its status or its scale.
func (s Server) Update(ctx context.Context, t Target, obj *unstructured.Unstructured, o metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	if t.Subresource == "scale" && scalable[t.Kind.GroupKind()] {
		return s.scale(ctx, t, obj, o)
	}
	return s.Cluster.Update(ctx, obj, o, t.subresources()...)
}

// Patch changes an object or its status.
func (s Server) Patch(ctx context.Context, t Target, kind types.PatchType, data []byte, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	return s.Cluster.Patch(ctx, t.Kind, t.Name, kind, data, o, t.subresources()...)
}

// unknown is the error for a subresource that does not exist.
func unknown(t Target) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: t.Kind.Group, Resource: t.Kind.Kind}, t.Name.Name)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s has no subresource %s here", t.Kind.Kind, t.Subresource)
	return err
}

// scaleOf returns the Scale of an object.
func scaleOf(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted, asked, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	if !asked {
		wanted = 1
	}
	has, _, _ := unstructured.NestedInt64(obj.Object, "status", "replicas")
	selector, err := selectorOf(obj)
	if err != nil {
		return nil, err
	}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"replicas": wanted},
		"status": map[string]any{"replicas": has, "selector": selector},
	}}
	scale.SetGroupVersionKind(scales)
	scale.SetNamespace(obj.GetNamespace())
	scale.SetName(obj.GetName())
	scale.SetUID(obj.GetUID())
	scale.SetResourceVersion(obj.GetResourceVersion())
	scale.SetCreationTimestamp(obj.GetCreationTimestamp())
	return scale, nil
}

// selectorOf returns the selector of an object as text. A ReplicationController selects by labels
// only.
func selectorOf(obj *unstructured.Unstructured) (string, error) {
	if obj.GetKind() == "ReplicationController" {
		set, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "selector")
		return labels.Set(set).String(), nil
	}
	fields, _, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	var given metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &given); err != nil {
		return "", err
	}
	return metav1.FormatLabelSelector(&given), nil
}

// scale changes the number of replicas that an object asks for.
func (s Server) scale(ctx context.Context, t Target, scale *unstructured.Unstructured, o metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	wanted, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil || wanted < 0 {
		return nil, apierrors.NewBadRequest("spec.replicas: must be a number that is not negative")
	}
	body := map[string]any{"spec": map[string]any{"replicas": wanted}}
	if v := scale.GetResourceVersion(); v != "" {
		body["metadata"] = map[string]any{"resourceVersion": v}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	po := metav1.PatchOptions{DryRun: o.DryRun, FieldManager: o.FieldManager}
	obj, err := s.Cluster.Patch(ctx, t.Kind, t.Name, types.MergePatchType, data, po)
	if err != nil {
		return nil, err
	}
	return scaleOf(obj)
}
