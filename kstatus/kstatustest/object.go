package kstatustest

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// open returns the fields of an object, which must not be changed, and its kind.
func open(obj runtime.Object) (map[string]any, schema.GroupKind, error) {
	u, err := Open(obj)
	if err != nil {
		return nil, schema.GroupKind{}, err
	}
	return u.Object, u.GroupVersionKind().GroupKind(), nil
}

// Open returns an object in the form of a map, which may be that of the object itself. If its kind
// is empty, it is derived from the Go type; that is an error if the type is not one of Kubernetes.
func Open(obj runtime.Object) (*unstructured.Unstructured, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("kstatustest: there is no object")
	}
	fields, err := fieldsOf(obj)
	if err != nil {
		return nil, fmt.Errorf("kstatustest: reading a %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	if u.GetKind() != "" {
		return u, nil
	}
	kind, known := kindOfType(obj)
	if !known {
		return nil, fmt.Errorf("kstatustest: a %T without a kind: set apiVersion and kind", obj)
	}
	u.Object = object.CopyMap(fields)
	u.SetGroupVersionKind(kind)
	return u, nil
}

func fieldsOf(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// kindOfType derives the kind of a Go type of Kubernetes from its package, such as
// k8s.io/api/apps/v1: the group begins with the name of the folder.
func kindOfType(obj runtime.Object) (schema.GroupVersionKind, bool) {
	t := reflect.TypeOf(obj)
	if t.Kind() != reflect.Pointer {
		return schema.GroupVersionKind{}, false
	}
	t = t.Elem()
	folder := path.Base(path.Dir(t.PkgPath()))
	for gk := range builtinMakers() {
		group, _, _ := strings.Cut(gk.Group, ".")
		if group == "" {
			group = "core"
		}
		if gk.Kind == t.Name() && group == folder {
			return gk.WithVersion(path.Base(t.PkgPath())), true
		}
	}
	return schema.GroupVersionKind{}, false
}

// closeInto writes fields into an object. A kind that was empty stays empty.
func closeInto(obj runtime.Object, fields map[string]any) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = fields
		return nil
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, obj); err != nil {
		return fmt.Errorf("kstatustest: writing a %T: %w", obj, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// describe names an object for messages.
func describe(fields map[string]any, kind schema.GroupKind) string {
	u := unstructured.Unstructured{Object: fields}
	if u.GetNamespace() == "" {
		return kind.Kind + " " + u.GetName()
	}
	return kind.Kind + " " + u.GetNamespace() + "/" + u.GetName()
}
