package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
)

// now is the time of all cases.
var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

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
	set, compileErr := stage.Compile(stage.Options{Lenient: true, Funcs: placeholders()}, source)
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

// check compares what can happen to an object with what the file says.
func check(set *stage.Set, input, output string) string {
	obj, want := map[string]any{}, any(nil)
	if err := errors.Join(readYAML(input, &obj), readYAML(output, &want)); err != nil {
		return err.Error()
	}
	got, err := outcome(set, &unstructured.Unstructured{Object: integers(obj).(map[string]any)})
	if err != nil {
		return err.Error()
	}
	return diff(want, got)
}

// outcome lists the Stages that can be played on obj, in the format of the output files.
func outcome(set *stage.Set, obj *unstructured.Unstructured) (map[string]any, error) {
	stages := []any{}
	for _, c := range set.Candidates(obj, now) {
		if c.Probability == 0 {
			continue
		}
		s, err := candidate(c, obj)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	result := map[string]any{"apiGroup": obj.GetAPIVersion(), "kind": obj.GetKind(), "name": obj.GetName(), "stages": stages}
	if ns := obj.GetNamespace(); ns != "" {
		result["namespace"] = ns
	}
	return result, nil
}

func candidate(c stage.Candidate, obj *unstructured.Unstructured) (map[string]any, error) {
	t := c.Transition(0)
	effects, err := t.Effects(obj, now)
	if err != nil {
		return nil, err
	}
	next := []any{}
	for _, e := range effects {
		next = append(next, describe(e))
	}
	if t.Immediate() {
		next = append(next, map[string]any{"kind": "immediate"})
	}
	s := map[string]any{"stage": c.Stage, "next": next}
	if c.Weighted {
		s["weight"] = c.Weight
	}
	switch {
	case c.Delay.Given && c.Delay.Max > c.Delay.Min:
		s["delay"] = []any{c.Delay.Min, c.Delay.Max}
	case c.Delay.Given:
		s["delay"] = []any{c.Delay.Min}
	}
	return s, nil
}

// describe puts an effect into the format of the output files.
func describe(e stage.Effect) map[string]any {
	switch e := e.(type) {
	case stage.Event:
		return map[string]any{"kind": "event", "type": e.Type, "reason": e.Reason, "message": e.Message}
	case stage.Patch:
		return request("patch", string(e.Type), e.Subresource, e.Impersonate, e.Data)
	case stage.Apply:
		return request("apply", string(e.Type), e.Subresource, e.Impersonate, e.Object.Object)
	default:
		return map[string]any{"kind": "delete"}
	}
}

func request(kind, patchType, subresource, user string, data any) map[string]any {
	m := map[string]any{"kind": kind, "type": patchType, "data": data}
	for name, value := range map[string]string{"subresource": subresource, "impersonation": user} {
		if value != "" {
			m[name] = value
		}
	}
	return m
}

// placeholders are template functions that print their own names and arguments instead of what depends on the surroundings.
func placeholders() map[string]any {
	funcs := map[string]any{}
	for _, name := range []string{"NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "Version"} {
		funcs[name] = func(args ...any) string { return "<" + call(name, args) + ">" }
	}
	for _, name := range []string{"NodeIPsWith", "PodIPsWith"} {
		funcs[name] = func(args ...any) []string {
			return []string{"<0 of " + call(name, args) + ">", "<1 of " + call(name, args) + ">"}
		}
	}
	return funcs
}

func call(name string, args []any) string {
	if len(args) == 0 {
		return name
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = fmt.Sprintf("%#v", a)
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
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

// missing reports whether a suite's file is simply not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
