package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
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
	u, err := decodeFields(data, c.of.kind, mediaType)
	if err != nil {
		return nil, err
	}
	paths, err := c.schemas.Unknown(c.ctx, c.cluster, u)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	faults := append(duplicates(data, mediaType), unknownFields(paths)...)
	if len(faults) == 0 {
		return u, nil
	}
	return u, validation.report(c.w, runtime.NewStrictDecodingError(faults), c.of.kind)
}

// duplicates tells of fields that a body has more than once.
func duplicates(data []byte, mediaType string) []error {
	var fields map[string]any
	if mediaType == yamlType {
		if err := yaml.UnmarshalStrict(data, &fields); err != nil {
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

func unknownFields(paths []string) (faults []error) {
	for _, path := range paths {
		faults = append(faults, fmt.Errorf("unknown field %q", path))
	}
	return faults
}

// unknownCustom tells of the fields of a patch that the custom kind does not have.
func (c *call) unknownCustom(fields map[string]any) []error {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
	u.SetGroupVersionKind(c.of.kind)
	paths, err := c.schemas.Unknown(c.ctx, c.cluster, u)
	if err != nil {
		return nil // what the patch makes of the object is read again
	}
	return unknownFields(paths)
}

// read returns an object as the version of the request shows it.
func (c *call) read(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.of.definition == nil || u.GroupVersionKind() != c.of.kind {
		return u, nil
	}
	return c.schemas.Read(c.of.definition, u)
}

// readWatched is read for an event of a watch.
func (c *call) readWatched(event watch.EventType, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if event == watch.Bookmark {
		return u, nil
	}
	return c.read(u)
}
