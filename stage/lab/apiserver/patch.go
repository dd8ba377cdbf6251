package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func (c *call) patch() error {
	o, kind, data, err := c.patchBody()
	if err != nil {
		return err
	}
	if kind, data, err = c.patchOfStorage(kind, data); err != nil {
		return err
	}
	before, err := c.stored()
	if err != nil {
		return err
	}
	u, err := c.cluster.Patch(c.ctx, c.of.storage, c.key(), kind, data, o, c.subresources()...)
	if err != nil {
		return err
	}
	c.warnOfFinalizers(before, u)
	c.warnOfUnmodelled(u, o.DryRun)
	if before == nil {
		return c.write(http.StatusCreated, u)
	}
	return c.write(http.StatusOK, u)
}

// stored returns the object of the path, nil if there is none. The error is that of its conversion.
func (c *call) stored() (*unstructured.Unstructured, error) {
	u, err := c.cluster.Get(c.ctx, c.of.storage, c.key())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

// patchBody reads a patch, its type and its options.
func (c *call) patchBody() (o metav1.PatchOptions, kind types.PatchType, data []byte, err error) {
	if err = c.options(&o); err != nil {
		return o, "", nil, err
	}
	patchType := types.PatchType(c.r.Header.Get("Content-Type"))
	if err = invalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&o, patchType)); err != nil {
		return o, "", nil, err
	}
	mediaType, err := mediaTypeOf(c.r)
	if err != nil {
		return o, "", nil, err
	}
	known := c.patchTypes()
	kind = types.PatchType(mediaType)
	switch {
	case slices.Contains(known, string(kind)):
	case c.of.definition != nil:
		return o, "", nil, unsupported(known...)
	default:
		return o, "", nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
	}
	if data, err = readBody(c.r); err != nil {
		return o, "", nil, err
	}
	if kind == types.ApplyYAMLPatchType {
		err = c.checkYAML(data, o.FieldValidation)
	}
	if err == nil {
		data, err = c.checkFields(kind, data, o.FieldValidation)
	}
	if kind == types.ApplyYAMLPatchType {
		return o, kind, data, err
	}
	o.FieldManager = c.manager(o.FieldManager)
	return o, kind, data, err
}

// checkYAML checks that what is applied is YAML and has each field once.
func (c *call) checkYAML(data []byte, validation string) error {
	if isPlainJSON(data) {
		return nil
	}
	if err := yaml.Unmarshal(data, &metav1.PartialObjectMetadata{}); err != nil {
		return badRequest("error decoding YAML: %v", err)
	}
	if err := yaml.UnmarshalStrict(data, &map[string]any{}); err != nil && validation != metav1.FieldValidationIgnore {
		if validation == metav1.FieldValidationStrict {
			return badRequest("error strict decoding YAML: %v", err)
		}
		warn(c.w, err.Error())
	}
	return nil
}

// isPlainJSON reports whether a text is an object in JSON that has each member once. Such a text is
// also YAML, whose parser takes twenty times as long.
func isPlainJSON(data []byte) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	var obj metav1.PartialObjectMetadata
	if json.Unmarshal(data, &obj) != nil {
		return false
	}
	var fields map[string]any
	faults, err := kjson.UnmarshalStrict(data, &fields)
	return err == nil && len(faults) == 0
}

// patchTypes are the types of patches that a kind can take.
func (c *call) patchTypes() []string {
	all := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if c.of.hasProtobuf() {
		all = append(all, string(types.StrategicMergePatchType))
	}
	return append(all, string(types.ApplyYAMLPatchType))
}
