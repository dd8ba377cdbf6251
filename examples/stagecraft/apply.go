package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// applyAll applies objects through the server, so that the server fills them in and refuses what a cluster
// would: definitions first, then namespaces, then the others in their order. It applies all it can, and
// returns all faults with their places.
func applyAll(ctx context.Context, config *rest.Config, objects []manifests.Manifest) error {
	if len(objects) == 0 {
		return nil
	}
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b manifests.Manifest) int { return rank(a) - rank(b) })
	var faults []error
	for _, m := range objects {
		if err := apply(ctx, cluster, m.Unstructured); err != nil {
			faults = append(faults, m.At(fieldOf(err), err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return faultyInput{err}
	}
	return nil
}

// rank orders the kinds that others need.
func rank(m manifests.Manifest) int {
	if place := slices.Index([]string{"CustomResourceDefinition", "Namespace"}, m.GetKind()); place >= 0 {
		return place
	}
	return 2
}

// ofServer are the fields of metadata that a server sets: an object that was read from a cluster has them.
var ofServer = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}

// apply applies an object, and its status if it has one.
func apply(ctx context.Context, cluster *kube.Cluster, given *unstructured.Unstructured) error {
	obj := given.DeepCopy()
	for _, field := range ofServer {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if name, _, err := unstructured.NestedString(obj.Object, "metadata", "name"); err != nil || name == "" {
		return errors.New("metadata.name: want a text; a YAML such as n or 1 needs quotes")
	}
	status, hasStatus := obj.Object["status"].(map[string]any)
	delete(obj.Object, "status")
	if err := send(ctx, cluster, obj); err != nil || !hasStatus || len(status) == 0 {
		return err
	}
	withStatus := &unstructured.Unstructured{Object: map[string]any{"status": status, "metadata": map[string]any{}}}
	withStatus.SetGroupVersionKind(obj.GroupVersionKind())
	withStatus.SetName(obj.GetName())
	withStatus.SetNamespace(obj.GetNamespace())
	if err := send(ctx, cluster, withStatus, "status"); !apierrors.IsNotFound(err) {
		return err
	}
	obj.Object["status"] = status // the kind has no subresource for it
	return send(ctx, cluster, obj)
}

// send sends an apply.
func send(ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured, subresources ...string) error {
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	force := true
	name := types.NamespacedName{Namespace: cmp.Or(obj.GetNamespace(), "default"), Name: obj.GetName()} // kinds without namespaces ignore it
	_, err = cluster.Patch(ctx, obj.GroupVersionKind(), name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "stagecraft", Force: &force, FieldValidation: metav1.FieldValidationStrict}, subresources...)
	if err != nil {
		return fmt.Errorf("%s %s: %w", obj.GetKind(), strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"), err)
	}
	return nil
}

// fieldOf returns the field that an answer of the server names first, or "" for the whole object.
func fieldOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	if details := status.Status().Details; details != nil && len(details.Causes) > 0 {
		return details.Causes[0].Field
	}
	return ""
}
