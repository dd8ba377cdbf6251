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
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Apply creates objects, or changes them, by server-side apply. It also writes a given status. It
// takes YAML or JSON as a string, with any number of documents and Lists, and it takes objects and
// lists, unstructured or of Go types. It ignores a zero status of a Go type. The default namespace
// is default. Nothing else happens until time passes.
//
// Like kubectl, it refuses an object with a field that its kind does not have, that it has twice, or
// whose value has the wrong type, unless Options.Lenient is set. It applies the other objects, and
// then fails the test with all faults. The fields of a kind are those of its definition or, for a
// built-in kind, those of the version of k8s.io/api with which the test was built.
func (l *Lab) Apply(manifests ...any) {
	l.t.Helper()
	l.must(l.applyAll(manifests))
}

func (l *Lab) applyAll(manifests []any) error {
	var faults []error
	for _, given := range manifests {
		m, err := l.read(given)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for i, obj := range m.objects {
			if err := errors.Join(l.faultsOf(m, i)...); err != nil {
				faults = append(faults, err)
				continue
			}
			faults = append(faults, l.apply(obj))
		}
	}
	return errors.Join(faults...)
}

// read reads what Apply is given.
func (l *Lab) read(given any) (*manifest, error) {
	switch m := given.(type) {
	case string:
		if l.base != nil {
			return l.base.parse(m)
		}
		return parseManifest(m)
	case runtime.Object:
		if v := reflect.ValueOf(m); v.Kind() == reflect.Pointer && !v.IsNil() && meta.IsListType(m) {
			return itemsOf(m)
		}
		return manifestOf(m)
	}
	return nil, fmt.Errorf("a manifest is YAML as a string, or an object, not a %T", given)
}

func itemsOf(list runtime.Object) (all *manifest, err error) {
	all = &manifest{}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		m, err := manifestOf(item)
		if err == nil {
			all.objects, all.faults = append(all.objects, m.objects...), append(all.faults, m.faults...)
		}
		return err
	})
	return all, err
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
