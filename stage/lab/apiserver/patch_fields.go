package apiserver

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/strict"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// checkFields looks for fields in a patch that the kind does not have. They are
// refused, or told in headers, and left out of the patch. What strategic patches write as $… is left as it is.
func (c *call) checkFields(kind types.PatchType, data []byte, validation string) ([]byte, error) {
	if !c.of.hasProtobuf() && c.of.definition == nil || c.subresource == "scale" {
		return data, nil
	}
	if kind == types.JSONPatchType {
		return c.checkSteps(data, validation)
	}
	text := data
	if kind == types.ApplyYAMLPatchType && !json.Valid(data) {
		var err error
		if text, err = yaml.YAMLToJSON(data); err != nil {
			return data, nil // the cluster refuses it
		}
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(text, &fields); err != nil || fields == nil {
		return data, nil
	}
	faults, err := c.unknownFields(fields, text)
	if kind == types.ApplyYAMLPatchType {
		if c.of.definition != nil || err != nil || len(faults) > 0 {
			err = c.checkTypes(fields, notTyped("patch"))
		}
		if err == nil && c.of.conversion() == "Webhook" {
			err = c.checkLive()
		}
		return data, err
	}
	if err != nil {
		return nil, notStrict(string(data), err)
	}
	if len(faults) == 0 {
		return data, nil
	}
	if c.of.definition != nil && validation == metav1.FieldValidationStrict {
		return nil, notStrict(string(data), runtime.NewStrictDecodingError(faults))
	}
	if err := strictness(validation).report(c.w, runtime.NewStrictDecodingError(faults), c.of.kind); err != nil {
		return nil, err
	}
	if c.of.definition != nil {
		return data, nil // the cluster drops them
	}
	for _, fault := range faults {
		if path, ok := strict.UnknownPath(fault); ok {
			dropField(fields, path)
		}
	}
	return json.Marshal(fields)
}

// checkSteps looks for such fields in what a JSON patch makes of the object. Steps that remove them again
// are added to the patch.
func (c *call) checkSteps(data []byte, validation string) ([]byte, error) {
	patched, ok := c.patchedBy(data)
	var fields map[string]any
	if !ok || utiljson.Unmarshal(patched, &fields) != nil || fields == nil {
		return data, nil // the cluster refuses it
	}
	faults, err := c.unknownFields(fields, patched)
	if err != nil || len(faults) == 0 {
		return data, nil
	}
	if validation == metav1.FieldValidationStrict {
		return nil, notStrict(string(patched), runtime.NewStrictDecodingError(faults))
	}
	if err := strictness(validation).report(c.w, runtime.NewStrictDecodingError(faults), c.of.kind); err != nil || c.of.definition != nil {
		return data, err // the cluster drops those of custom kinds
	}
	var steps []any
	if err := json.Unmarshal(data, &steps); err != nil {
		return data, nil
	}
	for _, fault := range faults {
		if path, ok := strict.UnknownPath(fault); ok {
			steps = append(steps, map[string]any{"op": "remove", "path": pointer(path)})
		}
	}
	return json.Marshal(steps)
}

// patchedBy is the object of the path after a JSON patch, as JSON; false if it cannot be told.
func (c *call) patchedBy(data []byte) ([]byte, bool) {
	before, err := c.stored()
	if err != nil || before == nil || c.of.storage != c.of.kind {
		return nil, false
	}
	patched, err := memory.ApplyJSONPatch(before.Object, data)
	if err != nil {
		return nil, false
	}
	text, err := json.Marshal(patched)
	return text, err == nil
}

// pointer is a path such as spec.containers[0].imag as a JSON pointer.
func pointer(path string) string {
	path = strings.NewReplacer("~", "~0", "/", "~1", "]", "").Replace(path)
	return "/" + strings.NewReplacer(".", "/", "[", "/").Replace(path)
}

// unknownFields returns the faults of a strict reader of the kind. The error is that a value has the
// wrong type.
func (c *call) unknownFields(fields map[string]any, text []byte) (faults []error, err error) {
	if c.of.definition != nil {
		return c.unknownCustom(fields), nil
	}
	if fields["kind"] == nil || fields["apiVersion"] == nil {
		fields = maps.Clone(fields)
		fields["apiVersion"], fields["kind"] = c.of.kind.ToAPIVersionAndKind()
		if text, err = json.Marshal(fields); err != nil {
			return nil, nil
		}
	}
	_, read, err := builtinReaders[jsonType].Decode(text, &c.of.kind, nil)
	found, isStrict := runtime.AsStrictDecodingError(err)
	switch {
	case read == nil || *read != c.of.kind:
		return nil, nil // the cluster refuses it
	case !isStrict:
		return nil, err
	}
	for _, fault := range found.Errors() {
		if !strings.Contains(fault.Error(), "$") {
			faults = append(faults, fault)
		}
	}
	return faults, nil
}

// dropField removes a field at a path such as spec.containers[0].imag.
func dropField(fields map[string]any, path string) {
	var at any = fields
	parts := strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
	for i, part := range parts {
		switch v := at.(type) {
		case map[string]any:
			if i == len(parts)-1 {
				delete(v, part)
				return
			}
			at = v[part]
		case []any:
			n, err := strconv.Atoi(strings.Trim(part, "[]"))
			if err != nil || n < 0 || n >= len(v) {
				return
			}
			at = v[n]
		}
	}
}
