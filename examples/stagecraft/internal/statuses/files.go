package statuses

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Objects finds objects among themselves. It is a [kstatus.Reader].
type Objects []*unstructured.Unstructured

var _ kstatus.Reader = Objects(nil)

// Get implements [kstatus.Reader].
func (r Objects) Get(_ context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	for _, obj := range r {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == name.Namespace && obj.GetName() == name.Name {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name.Name)
}

// List implements [kstatus.Reader]. It returns one page.
func (r Objects) List(_ context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	for _, obj := range r {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == namespace &&
			selector.Matches(labels.Set(obj.GetLabels())) {
			list.Items = append(list.Items, *obj)
		}
	}
	return list, nil
}
