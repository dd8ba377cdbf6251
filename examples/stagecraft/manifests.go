package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A manifest is an object of a file, with the place of its fields.
type manifest struct {
	*unstructured.Unstructured
	source  stage.Source
	index   int
	isStage bool // the index is that of a Stage
}

// at returns an error about a field with its place.
func (m manifest) at(path string, err error) error {
	if m.isStage {
		return fmt.Errorf("%s: %w", m.source.Locate(m.index, path, -1), err)
	}
	return fmt.Errorf("%s: %w", m.source.LocateOther(m.index, path), err)
}

// loadFile reads a file, the files of a directory, or standard input ("-").
func loadFile(name string, stdin io.Reader) (stage.Source, error) {
	if name != "-" {
		return stage.Load(name)
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return stage.Source{}, fmt.Errorf("standard input: %w", err)
	}
	return stage.Parse("-", data), nil
}

// readManifests reads the objects of files, and reports all faults. It also returns the objects without a
// fault. A Stage has no state: unless withStages is set, it is a fault. No objects at all are one as well,
// because the empty output of a failed kubectl must not count as ready.
func readManifests(files []string, stdin io.Reader, withStages bool) (all []manifest, err error) {
	var errs []error
	for _, name := range files {
		source, err := loadFile(name, stdin)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, source.Errors().Unwrap()...)
		if len(source.Stages()) > 0 && !withStages {
			errs = append(errs, fmt.Errorf("%s: a Stage is played, and has no state: use stagecraft lint", source.Locate(0, "", -1)))
		}
		for i, obj := range source.OtherObjects() {
			m := manifest{Unstructured: obj, source: source, index: i}
			if faults := m.faults(); len(faults) > 0 {
				errs = append(errs, faults...)
				continue
			}
			all = append(all, m)
		}
	}
	if len(all)+len(errs) == 0 && !withStages {
		errs = append(errs, errors.New("no objects in the input"))
	}
	return all, errors.Join(errs...)
}

// readStages returns the Stages of files as objects, to be stored in a cluster.
func readStages(files []string) (all []manifest, err error) {
	for _, name := range files {
		source, err := stage.Load(name)
		if err != nil {
			return nil, err
		}
		for i, s := range source.Stages() {
			s.APIVersion, s.Kind = v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.Kind
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
			if err != nil {
				return nil, err
			}
			all = append(all, manifest{&unstructured.Unstructured{Object: fields}, source, i, true})
		}
	}
	return all, nil
}

// faults returns what makes an object useless: fields that are given twice, a version that is none, and an
// answer of an API server that is an error.
func (m manifest) faults() (faults []error) {
	faults = append(faults, m.source.Duplicates(m.index).Unwrap()...)
	version := m.GetAPIVersion()
	gv, err := schema.ParseGroupVersion(version)
	switch {
	case m.GetKind() == "Status" && version == "v1":
		text, _, _ := unstructured.NestedString(m.Object, "message")
		faults = append(faults, m.at("message", fmt.Errorf("no object, but an answer of the API server: %s", text)))
	case version == "":
		faults = append(faults, m.at("apiVersion", errors.New("apiVersion: missing")))
	case err != nil || gv.Version == "":
		faults = append(faults, m.at("apiVersion", fmt.Errorf("apiVersion: want a version, such as v1, or a group and a version, such as apps/v1; got %q", version)))
	}
	return faults
}

// isFile reports whether an argument names a file rather than a kind of a cluster.
func isFile(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return name == "-" || strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}
