package apiserver

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A storedForm is how objects of a kind are stored, where that is as another kind.
type storedForm struct {
	kind schema.GroupVersionKind
	// to returns the fields of an object as they are stored. What is stored already is given: what the
	// kind cannot say stays as it is. It is nil for a new object.
	to func(given, stored map[string]any) map[string]any
	// from returns the fields of a stored object.
	from func(stored map[string]any) map[string]any
}

// storedForms are the kinds that are stored as others.
var storedForms = map[schema.GroupVersionKind]storedForm{
	groupEvents:    {coreEvents, eventToCore, eventFromCore},
	oldAutoscalers: {autoscalers, autoscalerToV2, autoscalerFromV2},
}

// storageOf is the kind as which objects of a built-in kind are stored.
func storageOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	if form, is := storedForms[kind]; is {
		return form.kind
	}
	return kind
}

// toStorage returns an object of the kind of the request as it is stored.
func (c *call) toStorage(u *unstructured.Unstructured) *unstructured.Unstructured {
	form, is := storedForms[c.of.kind]
	if !is {
		return u
	}
	var stored map[string]any
	if s, _ := c.stored(); s != nil { // built-in kinds are not converted
		stored = s.Object
	}
	out := &unstructured.Unstructured{Object: form.to(u.Object, stored)}
	out.SetGroupVersionKind(form.kind)
	return out
}

// fromStorage returns an object that is stored as another kind as one of the kind of the request.
func (c *call) fromStorage(u *unstructured.Unstructured) *unstructured.Unstructured {
	form, is := storedForms[c.of.kind]
	if !is || u.GroupVersionKind() != form.kind {
		return u // it is that kind already
	}
	out := &unstructured.Unstructured{Object: form.from(u.Object)}
	out.SetGroupVersionKind(c.of.kind)
	return out
}

// patchOfStorage returns a patch of the object as it is stored. Lists of the kinds with another form
// are replaced as a whole, so a strategic merge is a merge.
func (c *call) patchOfStorage(kind types.PatchType, patch []byte) (types.PatchType, []byte, error) {
	if c.of.storage == c.of.kind {
		return kind, patch, nil
	}
	stored, err := c.stored()
	switch {
	case err != nil || kind != types.ApplyYAMLPatchType && stored == nil:
		return kind, patch, err
	case kind == types.ApplyYAMLPatchType:
		var given map[string]any
		if err := yaml.Unmarshal(patch, &given); err != nil {
			return kind, nil, badRequest("%v", err)
		}
		data, err := json.Marshal(c.toStorage(&unstructured.Unstructured{Object: given}).Object)
		return kind, data, err
	}
	before, err := json.Marshal(stored.Object)
	if err != nil {
		return kind, nil, err
	}
	after, err := c.patchedForm(c.fromStorage(stored), kind, patch)
	if err != nil {
		return kind, nil, err
	}
	data, err := jsonpatch.CreateMergePatch(before, after)
	return types.MergePatchType, data, err
}

// patchedForm returns an object, as the request sees it, after a patch, as it is stored.
func (c *call) patchedForm(seen *unstructured.Unstructured, kind types.PatchType, patch []byte) ([]byte, error) {
	data, err := patched(seen.Object, kind, patch)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &next.Object); err != nil {
		return nil, badRequest("%v", err)
	}
	return json.Marshal(c.toStorage(next).Object)
}

// patched returns fields after a JSON patch or a merge patch, as JSON.
func patched(fields map[string]any, kind types.PatchType, patch []byte) ([]byte, error) {
	if kind == types.JSONPatchType {
		next, err := memory.ApplyJSONPatch(fields, patch)
		if err != nil {
			return nil, err
		}
		return json.Marshal(next)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if data, err = jsonpatch.MergePatch(data, patch); err != nil {
		return nil, badRequest("%v", err)
	}
	return data, nil
}
