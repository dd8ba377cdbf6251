package kstatus

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// A DefinitionReader looks up what the API server knows of a kind. The adapters of stage/memory and
// stage/kube are DefinitionReaders.
type DefinitionReader interface {
	// Definition returns the CustomResourceDefinition of a kind, nil for a kind that has none. It is
	// not changed.
	Definition(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error)
}

// WithDefinition returns a verdict on an object that may say more than the given one, because the
// definition of its kind says whether a status is ever to come. It asks the reader only if the
// verdict of Extended rests on a guess about that: on a missing status, or on one that says nothing.
//
//   - No status in the schema, so that the server drops one: the object is Current at once.
//   - A subresource for a status that is missing: InProgress until it comes.
//   - A schema of the status without a field for a state: Current once the status is there.
//
// The verdict stays as it is for kinds without a definition, and if the look-up fails, with the
// error. [Rules.Inspect] does this itself if its reader is a DefinitionReader.
func WithDefinition(ctx context.Context, reader DefinitionReader, obj *unstructured.Unstructured, own Result) (Result, error) {
	if own.Basis != BasisGuess {
		return own, nil
	}
	kind := obj.GroupVersionKind()
	crd, err := reader.Definition(ctx, kind)
	if err != nil || crd == nil {
		if err != nil {
			err = fmt.Errorf("look up the definition of %s: %w", kind.GroupKind(), err)
		}
		return own, err
	}
	d, known := definitionOf(crd, kind.Version)
	if !known {
		return own, nil
	}
	status, _ := mapOf(obj.Object["status"])
	return d.refine(own, len(status) > 0), nil
}

// A definition is what a version of a CustomResourceDefinition says about the status.
type definition struct {
	subresource bool
	declared    bool // the schema has a status, or allows any field
	statePaths  bool // the schema of the status has a field for a state, or allows any field
}

func definitionOf(crd *unstructured.Unstructured, version string) (d definition, known bool) {
	versions, _ := object.Slice(crd.Object, "spec", "versions")
	for _, item := range versions {
		v, _ := object.ToMap(item)
		if v["name"] != version {
			continue
		}
		_, d.subresource = object.Get(v, "subresources", "status")
		root, _ := object.Get(v, "schema", "openAPIV3Schema")
		status, declared := object.Get(v, "schema", "openAPIV3Schema", "properties", "status")
		d.declared = declared || isOpen(root)
		d.statePaths = !declared || declaresState(status, stateDepth)
		return d, true
	}
	return d, false
}

// isOpen reports whether a schema is missing, or allows fields that it does not name.
func isOpen(v any) bool {
	m, ok := object.ToMap(v)
	return !ok || m["x-kubernetes-preserve-unknown-fields"] == true
}

// declaresState reports whether a schema has a property for a state, or allows any.
func declaresState(v any, depth int) bool {
	m, _ := object.ToMap(v)
	properties, _ := object.ToMap(m["properties"])
	if m["x-kubernetes-preserve-unknown-fields"] == true {
		return true
	}
	for name, inner := range properties {
		if words.NamesState(name) || depth > 1 && declaresState(inner, depth-1) {
			return true
		}
	}
	return declaresStateOfParts(m, depth)
}

func declaresStateOfParts(m map[string]any, depth int) bool {
	for _, field := range [...]string{"items", "additionalProperties"} {
		if inner, ok := object.ToMap(m[field]); ok && declaresState(inner, depth-1) {
			return true
		}
	}
	return false
}

func (d definition) refine(own Result, reported bool) Result {
	switch {
	case !d.declared:
		return Current.Because("", "The kind has no status").At("status")
	case !reported && d.subresource:
		return unreported()
	case reported && !d.statePaths:
		return Current.Because("", "The status of the kind has no field for a state").At("status")
	case reported:
		r := own
		r.Status, r.Reason, r.message = InProgress, "StatusUnclear", unclearMessage
		r.RecheckAfter = 0
		return r
	}
	return own
}
