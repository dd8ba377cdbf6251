package apiserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Events of both groups are the same objects. They are stored as those of the core group.
var (
	coreEvents  = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	groupEvents = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
)

// storageOf is the kind as which objects of a built-in kind are stored.
func storageOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	if kind == groupEvents {
		return coreEvents
	}
	return kind
}

// coreNames are the fields of Events of events.k8s.io that have other names in the core group; see
// k8s.io/kubernetes/pkg/apis/events/v1/conversion.go.
var coreNames = map[string]string{
	"regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent", "deprecatedSource": "source",
	"deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
}

// coreName is the name of a field of an Event of events.k8s.io in the core group.
func coreName(name string) string {
	if other, differs := coreNames[name]; differs {
		return other
	}
	return name
}

// groupName is the opposite of coreName.
func groupName(name string) string {
	for other, core := range coreNames {
		if core == name {
			return other
		}
	}
	return name
}

// toStorage returns an object of the kind of the request as it is stored.
func (c *call) toStorage(u *unstructured.Unstructured) *unstructured.Unstructured {
	if c.of.storage == c.of.kind {
		return u
	}
	return renamed(u, c.of.storage, coreName)
}

// fromStorage returns an object that is stored as another kind as one of the kind of the request.
func (c *call) fromStorage(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u.GroupVersionKind() != c.of.storage {
		return u // it is that kind already
	}
	return renamed(u, c.of.kind, groupName)
}

// renamed returns an object of another kind with other names of fields. What is in the fields is shared.
func renamed(u *unstructured.Unstructured, kind schema.GroupVersionKind, name func(string) string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: renamedKeys(u.Object, name)}
	out.SetGroupVersionKind(kind)
	return out
}

func renamedKeys(m map[string]any, name func(string) string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[name(k)] = v
	}
	return out
}

// patchOfStorage returns a patch of the object as it is stored.
func (c *call) patchOfStorage(kind types.PatchType, patch []byte) ([]byte, error) {
	if c.of.storage == c.of.kind {
		return patch, nil
	}
	if kind == types.JSONPatchType {
		var steps []map[string]any
		if err := json.Unmarshal(patch, &steps); err != nil {
			return nil, badRequest("%v", err)
		}
		for _, step := range steps {
			renamePointer(step, "path")
			renamePointer(step, "from")
		}
		return json.Marshal(steps)
	}
	var given map[string]any
	if err := yaml.Unmarshal(patch, &given); err != nil {
		return nil, badRequest("%v", err)
	}
	given = renamedKeys(given, coreName)
	if given["kind"] != nil {
		given["apiVersion"], given["kind"] = c.of.storage.ToAPIVersionAndKind()
	}
	return json.Marshal(given)
}

// renamePointer renames the first field of a JSON pointer.
func renamePointer(step map[string]any, field string) {
	pointer, _ := step[field].(string)
	if parts := strings.Split(pointer, "/"); len(parts) > 1 {
		parts[1] = coreName(parts[1])
		step[field] = strings.Join(parts, "/")
	}
}

// selectStorage turns the field selector of a request into one of the objects as they are stored.
func (c *call) selectStorage(o *metav1.ListOptions) error {
	if c.of.storage == c.of.kind || o.FieldSelector == "" {
		return nil
	}
	selector, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return badRequest("%v", err)
	}
	selector, err = selector.Transform(func(field, value string) (string, string, error) {
		first, rest, nested := strings.Cut(field, ".")
		if !slices.Contains(eventSelectors, first) {
			return "", "", badRequest("field label not supported: %s", field)
		}
		if nested {
			return coreName(first) + "." + rest, value, nil
		}
		return coreName(first), value, nil
	})
	if err != nil {
		return err
	}
	o.FieldSelector = selector.String()
	return nil
}

// eventSelectors are the fields of Events of events.k8s.io that can be selected.
var eventSelectors = []string{"metadata", "reason", "regarding", "reportingController", "type"}

// ofRequest returns an error about an object with the group of the request.
func (c *call) ofRequest(err error) error {
	var status *apierrors.StatusError
	if c.of.storage == c.of.kind || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return err
	}
	switch name := status.ErrStatus.Details.Name; status.ErrStatus.Reason {
	case metav1.StatusReasonNotFound:
		return apierrors.NewNotFound(c.of.groupResource(), name)
	case metav1.StatusReasonAlreadyExists:
		return apierrors.NewAlreadyExists(c.of.groupResource(), name)
	}
	return err
}
