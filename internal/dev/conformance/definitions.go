package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// readDefinitions reads the CustomResourceDefinitions in the YAML files below a directory. Other
// documents, and templates that are no YAML, are ignored.
func readDefinitions(dir string) (definitions []*unstructured.Unstructured, err error) {
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".yaml") && !strings.HasSuffix(file, ".yml") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			obj := &unstructured.Unstructured{}
			if err := d.Decode(&obj.Object); errors.Is(err, io.EOF) || err != nil {
				return nil
			}
			if obj.GetKind() == "CustomResourceDefinition" {
				definitions = append(definitions, obj)
			}
		}
	})
	return definitions, err
}

// scoreDefinitions prints how right the generic layer is on the cases of defined kinds, without and
// with their definitions.
func scoreDefinitions(w io.Writer, dir, definitionsDir string) error {
	definitions, err := readDefinitions(definitionsDir)
	if err != nil {
		return err
	}
	defined := map[schema.GroupKind]*unstructured.Unstructured{}
	for _, crd := range definitions {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		defined[schema.GroupKind{Group: group, Kind: kind}] = crd
	}
	without, with := basisScore{}, basisScore{}
	for _, file := range healthFiles {
		cases, err := readHealth(dir, file)
		if err != nil {
			return err
		}
		for _, c := range cases {
			crd := defined[schema.GroupKind{Group: c.Group, Kind: c.Kind}]
			if crd == nil || c.Arguable != "" {
				continue
			}
			if err := scoreDefined(w, c, crd, without, with); err != nil {
				return err
			}
		}
	}
	for _, s := range []struct {
		name  string
		score basisScore
	}{{"without definitions", without}, {"with definitions", with}} {
		for _, b := range append(bases, 0) {
			if c := s.score[b]; c != nil {
				fmt.Fprintf(w, "%s, %s: %s\n", s.name, basisName(b), c.line())
			}
		}
	}
	return nil
}

// scoreDefined adds the verdicts on a case, and prints them if they differ.
func scoreDefined(w io.Writer, c healthCase, crd *unstructured.Unstructured, without, with basisScore) error {
	obj, now, err := decode(statusCase{Manifest: c.Manifest})
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return err
	}
	rules := kstatus.Extended().Generic()
	plain := verdict{healthCase: c, got: rules.Compute(obj, now)}
	refined := verdict{healthCase: c, got: rules.WithDefinitions(ofVersion(crd, obj.GroupVersionKind().Version)).Compute(obj, now)}
	without.add(plain)
	with.add(refined)
	if plain.got.Status != refined.got.Status {
		fmt.Fprintf(w, "%s: want %s, got %s, with the definition %s\n", c.Name, c.WantStatus, plain.got, refined.got)
	}
	return nil
}

// ofVersion returns a definition that has a version: its own, or else the stored one under that name,
// since the cases are of other releases than the definitions.
func ofVersion(crd *unstructured.Unstructured, name string) *unstructured.Unstructured {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, item := range versions {
		if v, _ := item.(map[string]any); v["name"] == name {
			return crd
		}
	}
	for _, item := range versions {
		if v, _ := item.(map[string]any); v["storage"] == true {
			crd = crd.DeepCopy()
			v["name"] = name
			_ = unstructured.SetNestedSlice(crd.Object, []any{v}, "spec", "versions")
		}
	}
	return crd
}
