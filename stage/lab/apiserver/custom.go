package apiserver

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/strict"
)

// decode reads an object of the resource's kind from the body of the request.
func (c *call) decode(validation strictness) (*unstructured.Unstructured, error) {
	if c.of.definition == nil {
		return decode(c.w, c.r, c.of.kind, validation)
	}
	mediaType, err := mediaTypeOf(c.r)
	if err != nil {
		return nil, err
	}
	if mediaType != jsonType && mediaType != yamlType {
		return nil, unsupported(jsonType, yamlType)
	}
	data, err := readBody(c.r)
	if err != nil {
		return nil, err
	}
	u, err := c.decodeCustom(data, mediaType)
	if err != nil {
		return nil, err
	}
	unknown, err := strict.Custom(c.ctx, c.schemas, c.cluster, u)
	if err != nil {
		return nil, cannotBeHandled(c.of.kind, err)
	}
	faults := append(duplicates(data, mediaType), unknown...)
	if len(faults) == 0 {
		return u, nil
	}
	return u, validation.report(c.w, runtime.NewStrictDecodingError(faults), c.of.kind)
}

// decodeCustom reads an object and checks that it is of the custom kind.
func (c *call) decodeCustom(data []byte, mediaType string) (*unstructured.Unstructured, error) {
	u, err := readFields(data, c.of.kind, mediaType)
	switch {
	case err != nil:
		return nil, err
	case u.GetAPIVersion() != c.of.version.String():
		return nil, badRequest("the API version in the data (%s) does not match the expected API version (%s)", u.GetAPIVersion(), c.of.version)
	case u.GetKind() != c.of.kind.Kind:
		return nil, apierrors.NewInvalid(u.GroupVersionKind().GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), u.GetKind(), "must be "+c.of.kind.Kind)})
	}
	return u, nil
}

// duplicates tells of fields that a body has more than once.
func duplicates(data []byte, mediaType string) []error {
	var fields map[string]any
	if mediaType == yamlType {
		if _, err := yaml.YAMLToJSONStrict(data); err != nil {
			return []error{err}
		}
		return nil
	}
	faults, err := kjson.UnmarshalStrict(data, &fields)
	if err != nil {
		return nil // it has been read: it is no object
	}
	return faults
}

// unknownCustom tells of the fields of a patch that the custom kind does not have.
func (c *call) unknownCustom(fields map[string]any) []error {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
	u.SetGroupVersionKind(c.of.kind)
	faults, err := strict.Custom(c.ctx, c.schemas, c.cluster, u)
	if err != nil {
		return nil // what the patch makes of the object is read again
	}
	return faults
}

// read returns an object as the version of the request shows it.
func (c *call) read(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.of.storage != c.of.kind {
		return c.fromStorage(u), nil
	}
	if c.of.definition == nil || u.GroupVersionKind() != c.of.kind {
		return u, nil
	}
	return c.schemas.Read(c.of.definition, u)
}

// readWatched is read for an event of a watch.
func (c *call) readWatched(event watch.EventType, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if event == watch.Bookmark && c.of.definition != nil {
		return u, nil
	}
	return c.read(u)
}

// notStrict is the answer to a patch that adds what the kind does not have, where fieldValidation is
// Strict. kube-apiserver shows the patched object in the place of the patch.
func notStrict(patch string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
}

// deprecationOf returns the warning that the version of a kind is deprecated.
func deprecationOf(c customKind) string {
	if isDeprecated, _ := c.version["deprecated"].(bool); !isDeprecated {
		return ""
	}
	if given := text(c.version, "deprecationWarning"); given != "" {
		return given
	}
	group, _, _ := unstructured.NestedString(c.definition.Object, "spec", "group")
	warning := fmt.Sprintf("%s/%s %s is deprecated", group, text(c.version, "name"), text(c.names, "kind"))
	if next := c.successor(); next != "" {
		warning += fmt.Sprintf("; use %s/%s %s", group, next, text(c.names, "kind"))
	}
	return warning
}

// successor is the newest version that is served and not deprecated, and newer than this one.
func (c customKind) successor() (newest string) {
	versions, _, _ := unstructured.NestedSlice(c.definition.Object, "spec", "versions")
	for _, v := range versions {
		fields, _ := v.(map[string]any)
		name := text(fields, "name")
		if fields["served"] == true && fields["deprecated"] != true && version.CompareKubeAwareVersionStrings(text(c.version, "name"), name) < 0 &&
			(newest == "" || version.CompareKubeAwareVersionStrings(name, newest) > 0) {
			newest = name
		}
	}
	return newest
}

// warnOfFinalizers warns of names of new finalizers that others may use, too.
func (c *call) warnOfFinalizers(before, now *unstructured.Unstructured) {
	if c.of.definition == nil {
		return
	}
	var old []string
	if before != nil {
		old = before.GetFinalizers()
	}
	for _, name := range slices.Sorted(slices.Values(now.GetFinalizers())) {
		switch {
		case slices.Contains(old, name) || strings.Contains(name, "/") || standardFinalizers[name]:
		case strings.Contains(name, "."):
			warn(c.w, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", name))
		default:
			warn(c.w, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
		}
	}
}

var standardFinalizers = map[string]bool{metav1.FinalizerOrphanDependents: true, metav1.FinalizerDeleteDependents: true, "kubernetes": true}
