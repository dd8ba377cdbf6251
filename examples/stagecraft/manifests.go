package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

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
func readManifests(files []string, stdin io.Reader, withStages bool) (all []manifests.Manifest, err error) {
	var errs []error
	for _, name := range files {
		source, err := loadFile(name, stdin)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(source.Stages()) > 0 && !withStages {
			errs = append(errs, fmt.Errorf("%s: a Stage is played, and has no state: use stagecraft lint", source.Locate(0, "", -1)))
		}
		sound, err := manifests.Of(source)
		all, errs = append(all, sound...), append(errs, err)
	}
	if len(all) == 0 && errors.Join(errs...) == nil && !withStages {
		errs = append(errs, errors.New("no objects in the input"))
	}
	return all, errors.Join(errs...)
}

// readStages returns the Stages of files as objects, to be stored in a cluster.
func readStages(files []string) (all []manifests.Manifest, err error) {
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
			all = append(all, manifests.Manifest{Unstructured: &unstructured.Unstructured{Object: fields}, Source: source, Index: i, IsStage: true})
		}
	}
	return all, nil
}

// isFile reports whether an argument names a file rather than a kind of a cluster.
func isFile(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return name == "-" || strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}
