package labtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Apply creates objects, or changes them, by server-side apply. It also writes a given status. It
// takes YAML or JSON as a string, with any number of documents and Lists, and it takes objects and
// lists, unstructured or of Go types. It ignores a zero status of a Go type. The default namespace
// is default. Nothing else happens until time passes.
func (l *Lab) Apply(manifests ...any) {
	l.t.Helper()
	for _, m := range manifests {
		objs, err := l.objectsOf(m)
		l.must(err)
		for _, obj := range objs {
			l.must(l.apply(obj))
		}
	}
}

func (l *Lab) objectsOf(manifest any) ([]*unstructured.Unstructured, error) {
	switch m := manifest.(type) {
	case string:
		if l.base != nil {
			return l.base.parse(m)
		}
		return parseManifest(m)
	case runtime.Object:
		if v := reflect.ValueOf(m); v.Kind() == reflect.Pointer && !v.IsNil() && meta.IsListType(m) {
			return itemsOf(m)
		}
		obj, err := toUnstructured(m)
		return []*unstructured.Unstructured{obj}, err
	}
	return nil, fmt.Errorf("a manifest is YAML as a string, or an object, not a %T", manifest)
}

func itemsOf(list runtime.Object) (objs []*unstructured.Unstructured, err error) {
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := toUnstructured(item)
		objs = append(objs, obj)
		return err
	})
	return objs, err
}

// toUnstructured returns an object as fields. It removes a zero status, which Go types always have.
func toUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	u, err := kstatustest.Open(obj)
	if _, untyped := obj.(*unstructured.Unstructured); err == nil && !untyped && isBlank(u.Object["status"]) {
		delete(u.Object, "status")
	}
	return u, err
}

// isBlank reports whether a value contains only zero values.
func isBlank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if !isBlank(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

func parseManifest(text string) ([]*unstructured.Unstructured, error) {
	source := stage.Parse("manifest", []byte(text))
	if faults := source.Errors(); len(faults) > 0 {
		return nil, faults
	}
	if len(source.Stages()) > 0 {
		return nil, errors.New("Stages belong into Options.Stages")
	}
	return source.OtherObjects(), nil
}

// apply applies one object, without the metadata that the server sets.
func (l *Lab) apply(given *unstructured.Unstructured) error {
	obj := &unstructured.Unstructured{Object: object.CopyMap(given.Object)}
	status, hasStatus := obj.Object["status"]
	apart := l.hasStatusSubresource(obj.GroupVersionKind())
	if apart {
		delete(obj.Object, "status")
	}
	for _, name := range []string{"creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", name)
	}
	ref := referenceOf(obj)
	stored, err := l.patch(ref, types.ApplyPatchType, obj.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	if at := referenceOf(stored); !slices.Contains(l.applied, at) {
		l.applied = append(l.applied, at)
	}
	if fields, _ := object.ToMap(status); apart && hasStatus && len(fields) > 0 {
		_, err = l.patch(ref, types.MergePatchType, map[string]any{"status": status}, "status")
	}
	return err
}

// hasStatusSubresource reports whether a kind has the subresource status.
func (l *Lab) hasStatusSubresource(kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(l.Cluster().Kinds(), func(k memory.Kind) bool { return k.GroupVersionKind == kind && k.Status })
}

func (l *Lab) patch(ref reference, kind types.PatchType, body map[string]any, subresources ...string) (*unstructured.Unstructured, error) {
	force := kind == types.ApplyPatchType
	options := metav1.PatchOptions{FieldManager: "stagetest"}
	if force {
		options.Force = &force
	}
	return l.Cluster().Patch(context.Background(), ref.GroupVersionKind, ref.NamespacedName, kind, toJSON(body), options, subresources...)
}

// Applied returns the objects that were applied, as they are now, in the order in which they were
// applied first. It leaves out objects that are gone.
func (l *Lab) Applied() (objs []*unstructured.Unstructured) {
	for _, ref := range l.applied {
		if obj, err := l.get(ref); err == nil {
			objs = append(objs, obj)
		}
	}
	return objs
}

func toJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}
