package stages

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
)

// sameVersion reports whether two states of a Stage have the same spec and extensions. The latter
// change without a new generation.
func sameVersion(a, b *unstructured.Unstructured) bool {
	if a == b {
		return true
	}
	sameSpec := a.GetGeneration() > 0 && a.GetGeneration() == b.GetGeneration() || reflect.DeepEqual(a.Object["spec"], b.Object["spec"])
	return sameSpec && maps.Equal(extensionsOf(a), extensionsOf(b))
}

// extensionsOf are the annotations of a Stage that package stage reads, or refuses.
func extensionsOf(obj *unstructured.Unstructured) map[string]string {
	prefix, _, _ := strings.Cut(delay.ExtensionAnnotation, "/")
	extensions := obj.GetAnnotations()
	maps.DeleteFunc(extensions, func(name, _ string) bool { return !strings.HasPrefix(name, prefix+"/") })
	return extensions
}

// check compiles one Stage. It returns the faults, and the Stage if it is good. The Stage has no
// positions, because only check has the text to which they would refer.
func check(o stage.Options, obj *unstructured.Unstructured) ([]Fault, *stage.Source) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(),
		"metadata": map[string]any{"name": obj.GetName(), "annotations": extensionsOf(obj)},
		"spec":     obj.Object["spec"],
	})
	if err != nil {
		return []Fault{{Err: err}}, nil
	}
	source := stage.Parse("", text)
	set, err := stage.Compile(o, source)
	if err != nil {
		return faultsOf(obj, source, err), nil
	}
	good := stage.FromStages(source.Stages()...)
	return faultsOf(obj, source, set.Warnings()), &good
}

// faultsOf returns the faults of a Stage, with the positions within its fields.
func faultsOf(obj *unstructured.Unstructured, source stage.Source, err error) (faults []Fault) {
	var all stage.Errors
	if !errors.As(err, &all) {
		return []Fault{{Err: err}}
	}
	for _, e := range all {
		f := Fault{Path: e.Path, Warning: e.Warning, Err: e.Err}
		f.Line, f.Column = within(obj, source, e)
		faults = append(faults, f)
	}
	return faults
}
