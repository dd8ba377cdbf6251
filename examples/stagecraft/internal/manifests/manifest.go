// Package manifests has the objects of texts with the places of their fields.
package manifests

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A Manifest is an object of a text, with the place of its fields.
type Manifest struct {
	*unstructured.Unstructured
	Source  stage.Source
	Index   int
	IsStage bool // the index is that of a Stage
}

// A Fault is what is wrong with an object, and where.
type Fault struct {
	Position stage.Position
	Err      error
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %v", f.Position, f.Err) }
func (f *Fault) Unwrap() error { return f.Err }

// Of returns the objects of a text that are no Stages and have no fault, and all faults, joined.
func Of(source stage.Source) (all []Manifest, err error) {
	errs := source.Errors().Unwrap()
	for i, obj := range source.OtherObjects() {
		m := Manifest{Unstructured: obj, Source: source, Index: i}
		if faults := m.faults(); len(faults) > 0 {
			errs = append(errs, faults...)
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}

// Place returns the place of a field, or of the nearest field around it that the text has.
func (m Manifest) Place(path string) stage.Position {
	if m.IsStage {
		return m.Source.Locate(m.Index, path, -1)
	}
	return m.Source.LocateOther(m.Index, path)
}

// At returns an error about a field with its place.
func (m Manifest) At(path string, err error) error { return &Fault{m.Place(path), err} }

// faults returns what makes an object useless: fields that are given twice, a version that is none, and an
// answer of an API server that is an error.
func (m Manifest) faults() (faults []error) {
	faults = append(faults, m.Source.Duplicates(m.Index).Unwrap()...)
	version := m.GetAPIVersion()
	gv, err := schema.ParseGroupVersion(version)
	switch {
	case m.GetKind() == "Status" && version == "v1":
		text, _, _ := unstructured.NestedString(m.Object, "message")
		faults = append(faults, m.At("message", fmt.Errorf("no object, but an answer of the API server: %s", text)))
	case version == "":
		faults = append(faults, m.At("apiVersion", errors.New("apiVersion: missing")))
	case err != nil || gv.Version == "":
		faults = append(faults, m.At("apiVersion", fmt.Errorf("apiVersion: want a version, such as v1, or a group and a version, such as apps/v1; got %q", version)))
	}
	return faults
}
