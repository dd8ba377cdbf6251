package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/conformance/record"
	"github.com/stagecraft-go/stagecraft/stage"
)

// stageSuites reads stage/<suite>/<case>.{input,output}.yaml.
func stageSuites(dir string) ([]suite, error) {
	dirs, err := filepath.Glob(filepath.Join(dir, "stage", "*"))
	if err != nil {
		return nil, err
	}
	var suites []suite
	for _, d := range dirs {
		s, err := stageSuite(d)
		if err != nil {
			return nil, err
		}
		suites = append(suites, s)
	}
	return suites, nil
}

func stageSuite(dir string) (suite, error) {
	s := suite{name: "stage/" + filepath.Base(dir)}
	source, err := stage.Load(filepath.Join(dir, "stages"))
	if err != nil {
		return s, err
	}
	set, compileErr := stage.Compile(stage.Options{Lenient: true, Funcs: record.Placeholders()}, source)
	inputs, err := filepath.Glob(filepath.Join(dir, "*.input.yaml"))
	if err != nil {
		return s, err
	}
	for _, input := range inputs {
		base := strings.TrimSuffix(input, ".input.yaml")
		s.cases = append(s.cases, testCase{name: filepath.Base(base), run: func() string {
			if compileErr != nil {
				return compileErr.Error()
			}
			return check(set, input, base+".output.yaml")
		}})
	}
	return s, nil
}

// check compares the outcome for an object with the outcome in the file.
func check(set *stage.Set, input, output string) string {
	obj, want := map[string]any{}, any(nil)
	if err := errors.Join(readYAML(input, &obj), readYAML(output, &want)); err != nil {
		return err.Error()
	}
	got, err := record.Outcome(set, &unstructured.Unstructured{Object: record.Integers(obj).(map[string]any)})
	if err != nil {
		return err.Error()
	}
	return record.Diff(want, got)
}

// invalidSuites reads stage-invalid/<case>.yaml: Stages that must be refused, by name.
func invalidSuites(dir string) ([]suite, error) {
	files, err := filepath.Glob(filepath.Join(dir, "stage-invalid", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	s := suite{name: "stage-invalid"}
	for _, f := range files {
		s.cases = append(s.cases, testCase{name: strings.TrimSuffix(filepath.Base(f), ".yaml"), run: func() string { return refused(f) }})
	}
	return []suite{s}, nil
}

func refused(file string) string {
	source, err := stage.Load(file)
	if err != nil {
		return err.Error()
	}
	_, err = stage.Compile(stage.Options{Lenient: true}, source)
	var faults stage.Errors
	switch {
	case err == nil:
		return "compiled without an error"
	case !errors.As(err, &faults):
		return fmt.Sprintf("want stage.Errors, got %T", err)
	}
	for _, f := range faults {
		if f.Stage == "" || f.Path == "" || f.Position.Line == 0 {
			return "an error without stage, path or position: " + f.Error()
		}
	}
	return ""
}

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(data, into)
}
