package kstatus

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A DefinitionReader looks up what the API server knows of a kind. The adapters of stage/memory and
// stage/kube are DefinitionReaders.
type DefinitionReader interface {
	// Definition returns the CustomResourceDefinition of a kind, nil for a kind that has none. It is
	// not changed.
	Definition(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error)
}

// WithDefinitions returns rules that also know what CustomResourceDefinitions say of the status of
// their kinds. They use it where the verdict of [Extended] rests on words or on a guess; the rules
// of [Standard] do not use it.
//
//   - No status in the schema, so that the server drops one: the object is Current at once.
//   - A subresource for a status that is missing: InProgress until it comes.
//   - A schema of the status without a field for a state: Current once the status is there.
//   - A column for the condition Ready that `kubectl get` prints: InProgress until it comes.
//   - A phase whose word no one knows: what the description of the field says after that word, or, if
//     all other values of its enum are known and none of them is good, that it is the good one.
//
// Definitions of other kinds, and what is no definition, are ignored. [Rules.Inspect] looks
// definitions up itself if its reader is a [DefinitionReader], and so does package wait.
func (r *Rules) WithDefinitions(definitions ...*unstructured.Unstructured) *Rules {
	out := *r
	out.definitions = maps.Clone(r.definitions)
	if out.definitions == nil {
		out.definitions = map[schema.GroupVersionKind]*definition{}
	}
	for _, crd := range definitions {
		if crd != nil {
			addDefinition(out.definitions, crd)
		}
	}
	return &out
}

func addDefinition(to map[schema.GroupVersionKind]*definition, crd *unstructured.Unstructured) {
	group, _ := object.String(crd.Object, "spec", "group")
	kind, _ := object.String(crd.Object, "spec", "names", "kind")
	versions, _ := object.Slice(crd.Object, "spec", "versions")
	for _, item := range versions {
		v, _ := object.ToMap(item)
		name, _ := v["name"].(string)
		to[schema.GroupVersionKind{Group: group, Version: name, Kind: kind}] = definitionOf(v)
	}
}

// DependsOnDefinition reports whether the definition of its kind can change a verdict of these rules.
// If not, no caller has to look it up.
func (r *Rules) DependsOnDefinition(own Result) bool { return r.distinct && own.Basis <= BasisWords }

// lookUpDefinition returns the verdict with the definition that a reader has.
func (r *Rules) lookUpDefinition(ctx context.Context, reader DefinitionReader, obj *unstructured.Unstructured, own Result, now time.Time) (Result, error) {
	kind := obj.GroupVersionKind()
	if !r.DependsOnDefinition(own) || r.definitions[kind] != nil {
		return own, nil
	}
	crd, err := reader.Definition(ctx, kind)
	switch {
	case err != nil:
		return own, fmt.Errorf("look up the definition of %s: %w", kind.GroupKind(), err)
	case crd == nil:
		return own, nil
	}
	return r.WithDefinitions(crd).Compute(obj, now), nil
}

// definitionOf returns what the rules know of the kind of an object, nil if they know nothing.
func (r *Rules) definitionOf(o *Object) *definition {
	if len(r.definitions) == 0 || !r.distinct {
		return nil
	}
	version, _ := o.fields["apiVersion"].(string)
	return r.definitions[schema.FromAPIVersionAndKind(version, o.kind)]
}

// refine replaces a verdict by that of the definition, if that says more. It reports whether it did.
func (d *definition) refine(o *Object, own *Result) bool {
	if d == nil || own.Basis > BasisWords || own.Status == Failed {
		return false
	}
	reported := len(o.status) > 0
	r, ok := Result{}, true
	switch {
	case own.Basis == BasisGuess && !d.declared:
		r = Current.Because("", "The kind has no status").At("status").on(BasisKind)
	case own.Basis == BasisGuess && !reported:
		r, ok = unreported().on(BasisKind), d.subresource
	case own.Basis == BasisGuess && !d.statePaths:
		r = Current.Because("", "The status of the kind has no field for a state").At("status").on(BasisKind)
	default:
		r, ok = d.reported(o, own)
	}
	if ok {
		*own = r
	}
	return ok
}

// reported is refine for a status that has a field for a state.
func (d *definition) reported(o *Object, own *Result) (Result, bool) {
	if r, ok := d.phase(o); ok && (own.Basis == BasisGuess || r.isWorse(*own)) {
		return r, true
	}
	if d.readyColumn && own.Status == Current && !o.hasCondition("Ready") {
		return conditionMissing("Ready").on(BasisConvention), true
	}
	if own.Basis != BasisGuess || len(o.status) == 0 || own.path == "status.conditions" {
		return Result{}, false
	}
	r := inProgress("StatusUnclear", unclearMessage, "status").on(BasisGuess)
	return r, r != *own
}

func (o *Object) hasCondition(kind string) bool {
	_, ok := o.findView(kind, "", "")
	return ok
}
