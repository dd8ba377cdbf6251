// Package server answers typed requests from a cluster in memory, for controller-runtime's client.
package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Cluster gets the requests. It is a cluster of package memory, or a process of package hunt.
type Cluster interface {
	reader
	writer
	remover
}

type reader interface {
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

type writer interface {
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

type remover interface {
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
	Evict(ctx context.Context, pod types.NamespacedName, o metav1.DeleteOptions) error
	Kinds() []memory.Kind
}

// A Server is a cluster and the Go types of its objects. Without a Scheme all objects are
// unstructured. It is safe for concurrent use.
type Server struct {
	Cluster Cluster
	Scheme  *runtime.Scheme
}

// A Target is the object that a request is for, or the kind and namespace.
type Target struct {
	Kind        schema.GroupVersionKind
	Name        types.NamespacedName
	Subresource string
}

// subresources is the last argument of the methods of a cluster.
func (t Target) subresources() []string {
	if t.Subresource == "" {
		return nil
	}
	return []string{t.Subresource}
}

// KindOf returns the kind of a resource. For an unknown resource it returns the error of an API
// server.
func (s Server) KindOf(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	kinds := s.Cluster.Kinds()
	i := slices.IndexFunc(kinds, func(k memory.Kind) bool {
		return k.GroupVersion() == r.GroupVersion() && k.Resource == r.Resource
	})
	if i < 0 {
		err := apierrors.NewNotFound(r.GroupResource(), "")
		err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s is no known resource", r)
		return schema.GroupVersionKind{}, err
	}
	return kinds[i].GroupVersionKind, nil
}

// DeleteCollection deletes the objects that match a selection, one after another.
func (s Server) DeleteCollection(ctx context.Context, t Target, o metav1.DeleteOptions, selection metav1.ListOptions) error {
	found, err := s.Cluster.List(ctx, t.Kind, t.Name.Namespace, selection)
	if err != nil {
		return err
	}
	for _, obj := range found.Items {
		err := s.Cluster.Delete(ctx, t.Kind, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, o)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Unstructured returns an object as fields, with the given kind, because typed clients leave the
// kind empty. It does not change the object. The caller may change the root and the metadata of the
// result.
func Unstructured(obj runtime.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		root := maps.Clone(u.Object)
		if metadata, ok := root["metadata"].(map[string]any); ok {
			root["metadata"] = maps.Clone(metadata)
		}
		u = &unstructured.Unstructured{Object: root}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading a %T: %v", obj, err))
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// Typed returns an object as the Go type that the Scheme has for it. Its kind is then empty, as
// clients return it. An object without a Go type is returned unchanged.
func (s Server) Typed(u *unstructured.Unstructured) (runtime.Object, error) {
	obj, err := s.new(u.GroupVersionKind())
	if obj == nil || err != nil {
		return u, err
	}
	return obj, Into(u, obj)
}

// TypedList is Typed for a list.
func (s Server) TypedList(list *unstructured.UnstructuredList) (runtime.Object, error) {
	obj, err := s.new(list.GroupVersionKind())
	if obj == nil || err != nil {
		return list, err
	}
	return obj, ListInto(list, obj)
}

// new returns a zero object of a kind; nil if the Scheme has no Go type for it.
func (s Server) new(kind schema.GroupVersionKind) (runtime.Object, error) {
	if s.Scheme == nil || !s.Scheme.Recognizes(kind) {
		return nil, nil
	}
	obj, err := s.Scheme.New(kind)
	if _, fields := obj.(runtime.Unstructured); fields {
		return nil, nil
	}
	return obj, err
}

// Into writes fields into an object of a Go type. It replaces the old content and clears the kind,
// except for PartialObjectMetadata.
func Into(u *unstructured.Unstructured, obj runtime.Object) error {
	if out, ok := obj.(*unstructured.Unstructured); ok {
		out.Object = u.Object
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return fmt.Errorf("writing a %T: %w", obj, err)
	}
	if _, partial := obj.(*metav1.PartialObjectMetadata); !partial {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return nil
}

// ListInto is Into for a list.
func ListInto(list *unstructured.UnstructuredList, obj runtime.Object) error {
	switch out := obj.(type) {
	case *unstructured.UnstructuredList:
		*out = *list
		return nil
	case *metav1.PartialObjectMetadataList:
		return partialList(list, out)
	}
	for i := range list.Items {
		unstructured.RemoveNestedField(list.Items[i].Object, "apiVersion")
		unstructured.RemoveNestedField(list.Items[i].Object, "kind")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.UnstructuredContent(), obj); err != nil {
		return fmt.Errorf("writing a %T: %w", obj, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// partialList writes a list of metadata. It keeps the kinds of the items.
func partialList(list *unstructured.UnstructuredList, out *metav1.PartialObjectMetadataList) error {
	*out = metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, len(list.Items))}
	out.SetGroupVersionKind(list.GroupVersionKind())
	out.ResourceVersion, out.Continue, out.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	for i := range list.Items {
		if err := Into(&list.Items[i], &out.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
