package apiserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var scales = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scalePaths say where a kind has what its scale shows.
type scalePaths struct {
	wanted, present, selector []string // selector may be empty
}

// builtinScale is the scale of the built-in kinds.
var builtinScale = &scalePaths{wanted: []string{"spec", "replicas"}, present: []string{"status", "replicas"}}

// newScalePaths reads subresources.scale of a definition.
func newScalePaths(scale map[string]any) *scalePaths {
	path := func(field string) []string {
		given := strings.TrimPrefix(text(scale, field), ".")
		if given == "" {
			return nil
		}
		return strings.Split(given, ".")
	}
	return &scalePaths{path("specReplicasPath"), path("statusReplicasPath"), path("labelSelectorPath")}
}

func (c *call) serveScale(verb string) error {
	obj, err := c.cluster.Get(c.ctx, c.of.kind, c.key())
	if err != nil {
		return err
	}
	scale, err := c.scaleOf(obj)
	if err != nil {
		return err
	}
	if verb == "get" {
		return c.write(http.StatusOK, scale)
	}
	wanted, err := c.wantedScale(verb, scale)
	if err != nil {
		return err
	}
	if obj, err = c.rescale(scale, wanted); err != nil {
		return err
	}
	if scale, err = c.scaleOf(obj); err != nil {
		return err
	}
	return c.write(http.StatusOK, scale)
}

// A wantedScale is a Scale as a request asks for it, and how.
type wantedScale struct {
	*unstructured.Unstructured
	options      metav1.UpdateOptions
	apply, force bool
}

// wantedScale reads the Scale of an update, or patches the present one.
func (c *call) wantedScale(verb string, scale *unstructured.Unstructured) (w wantedScale, err error) {
	if verb == "update" {
		if err = c.options(&w.options); err == nil {
			w.Unstructured, err = decode(c.w, c.r, scales, strictness(w.options.FieldValidation))
		}
		w.options.FieldManager = c.manager(w.options.FieldManager)
		return w, err
	}
	o, kind, patch, err := c.patchBody()
	if err != nil {
		return w, err
	}
	w.options = metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager}
	if w.apply, w.force = kind == types.ApplyYAMLPatchType, o.Force != nil && *o.Force; w.apply {
		patch, err = c.appliedScale(patch)
		kind = types.MergePatchType
	}
	if err == nil {
		w.Unstructured, err = patchScale(scale, kind, patch)
	}
	return w, err
}

// appliedScale is a configuration of a Scale as a merge patch.
func (c *call) appliedScale(config []byte) ([]byte, error) {
	given, err := readFields(config, scales, yamlType)
	if err != nil {
		return nil, err
	}
	if given.GroupVersionKind() != scales {
		return nil, badRequest("invalid object type: %s", given.GroupVersionKind())
	}
	if given.GetName() == "" {
		given.SetName(c.name)
	}
	if err := cmp.Or(c.named(given), c.placeIn(given)); err != nil {
		return nil, err
	}
	replicas, has, err := unstructured.NestedInt64(given.Object, "spec", "replicas")
	if err != nil || !has {
		return nil, badRequest("a Scale that is applied must have spec.replicas here")
	}
	return json.Marshal(map[string]any{"spec": map[string]any{"replicas": replicas}})
}

// patchScale patches a Scale. It has no lists, so a strategic merge is a merge.
func patchScale(scale *unstructured.Unstructured, kind types.PatchType, patch []byte) (*unstructured.Unstructured, error) {
	before := scale.DeepCopy()
	if kind != types.JSONPatchType {
		before.SetResourceVersion("") // the patch may bring one
	}
	if kind != types.JSONPatchType && kind != types.MergePatchType && kind != types.StrategicMergePatchType {
		return nil, badRequest("a scale cannot be patched by %s here", kind)
	}
	data, err := patched(before.Object, kind, patch)
	if err != nil {
		return nil, err
	}
	return readFields(data, scales, jsonType)
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// rescale changes how many replicas an object asks for.
func (c *call) rescale(scale *unstructured.Unstructured, wanted wantedScale) (*unstructured.Unstructured, error) {
	change := memory.Scale{Path: c.of.scale.wanted, Apply: wanted.apply, Force: wanted.force}
	check := func() (err error) {
		change.ResourceVersion = wanted.GetResourceVersion()
		if change.Replicas, err = c.replicasOf(wanted.Unstructured); err != nil {
			return err
		}
		if version := change.ResourceVersion; version != "" && version != "0" && version != scale.GetResourceVersion() {
			return apierrors.NewConflict(c.resource.GroupResource(), c.name, errModified)
		}
		wanted.Object = scale.DeepCopy().Object // the last to be asked see what will be the Scale of the object
		return unstructured.SetNestedField(wanted.Object, change.Replicas, "spec", "replicas")
	}
	if err := c.consult(scale, wanted.Unstructured, wanted.options.DryRun, check); err != nil {
		return nil, err
	}
	return c.cluster.Scale(c.ctx, c.of.kind, c.key(), change, wanted.options)
}

// replicasOf returns how many replicas a Scale asks for.
func (c *call) replicasOf(scale *unstructured.Unstructured) (int64, error) {
	wanted, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	switch {
	case err != nil:
		return 0, badRequest("spec.replicas: %v", err)
	case wanted < 0 && c.of.definition == nil:
		return 0, apierrors.NewInvalid(scales.GroupKind(), c.name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), wanted, "must be greater than or equal to 0")})
	}
	return wanted, nil
}

// scaleOf returns the Scale of an object.
func (c *call) scaleOf(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	paths := c.of.scale
	wanted, asked, _ := unstructured.NestedInt64(obj.Object, paths.wanted...)
	if !asked && paths == builtinScale {
		wanted = 1
	}
	present, _, _ := unstructured.NestedInt64(obj.Object, paths.present...)
	selector, err := paths.selectorOf(obj)
	if err != nil {
		return nil, err
	}
	status := map[string]any{"replicas": present}
	if selector != "" {
		status["selector"] = selector
	}
	scale := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": wanted}, "status": status}}
	scale.SetGroupVersionKind(scales)
	scale.SetNamespace(obj.GetNamespace())
	scale.SetName(obj.GetName())
	scale.SetUID(obj.GetUID())
	scale.SetResourceVersion(obj.GetResourceVersion())
	scale.SetCreationTimestamp(obj.GetCreationTimestamp())
	return scale, nil
}

// selectorOf returns the selector of an object as text.
func (p *scalePaths) selectorOf(obj *unstructured.Unstructured) (string, error) {
	if p != builtinScale {
		s, _, _ := unstructured.NestedString(obj.Object, p.selector...)
		return s, nil
	}
	if obj.GetKind() == "ReplicationController" {
		set, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "selector")
		return labels.Set(set).String(), nil
	}
	fields, _, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	var given metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &given); err != nil {
		return "", err
	}
	return metav1.FormatLabelSelector(&given), nil
}
