package cliutils

import (
	"context"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// NewTransport returns a client as package kstatus/wait observes a cluster. If the mapper does not
// know a kind and can be reset, like those of client-go's restmapper can, the transport asks it once more: the
// kind may have been defined since. The transport is a [kstatus.DefinitionReader] too. The transport is safe for concurrent use if the mapper is.
func NewTransport(client dynamic.Interface, mapper meta.RESTMapper) transport.Reader {
	return reader{client, mapper}
}

type reader struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

// Get implements [transport.Getter].
func (t reader) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	resource, err := t.resource(kind, name.Namespace)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, name.Name, metav1.GetOptions{})
}

// List implements [transport.Lister].
func (t reader) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	resource, err := t.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	return resource.List(ctx, o)
}

// Watch implements [transport.Watcher].
func (t reader) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	resource, err := t.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	return resource.Watch(ctx, o)
}

// Definition implements [kstatus.DefinitionReader]. It needs the right to get
// customresourcedefinitions.
func (t reader) Definition(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if !strings.Contains(kind.Group, ".") {
		return nil, nil // custom resources have a domain for a group
	}
	mapping, err := t.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	crd, err := t.client.Resource(definitions).Get(ctx, mapping.Resource.Resource+"."+kind.Group, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// resource returns the client for a kind. A kind without namespaces is listed as a whole.
func (t reader) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := t.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		meta.MaybeResetRESTMapper(t.mapper)
		mapping, err = t.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	resource := t.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	return resource.Namespace(namespace), nil
}
