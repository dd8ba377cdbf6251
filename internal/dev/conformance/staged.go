package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/conformance/record"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// stagedChecks are the files of staged/ and how a case is checked.
var stagedChecks = []struct {
	name  string
	check func(json.RawMessage) string
}{
	{"expressions", checkExpression},
	{"combinedstatus", checkCombined},
	{"matching", checkMatching},
	{"hang", checkHang},
}

func stagedSuites(dir string) ([]suite, error) {
	var suites []suite
	for _, c := range stagedChecks {
		var cases []json.RawMessage
		err := readJSON(filepath.Join(dir, "staged", c.name+".json"), &cases)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := suite{name: "staged/" + c.name}
		for _, raw := range cases {
			var named struct{ Name string }
			if err := json.Unmarshal(raw, &named); err != nil {
				return nil, err
			}
			s.cases = append(s.cases, testCase{name: named.Name, run: func() string { return c.check(raw) }})
		}
		suites = append(suites, s)
	}
	return suites, nil
}

// An outcome is the result of an expression in expressions.json.
type outcome struct {
	Outcome             bool
	Type                string
	Error, CompileError string
}

func checkExpression(raw json.RawMessage) string {
	var c struct {
		Kind, Expression string
		Input            map[string]any
		Upstream         outcome
		Ours             *outcome
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err.Error()
	}
	want := c.Upstream
	if c.Ours != nil {
		want = *c.Ours
	}
	compile := staged.CompileCondition
	if c.Kind == "filter" {
		compile = staged.CompileFilter
	}
	got, failed := false, error(nil)
	e, err := compile(c.Expression)
	if err == nil {
		got, failed = e.Eval(record.Integers(c.Input).(map[string]any))
	}
	isBool := want.Type == "" || want.Type == "bool"
	switch {
	case got != want.Outcome:
		return fmt.Sprintf("want %v, got %v, %v, %v", want.Outcome, got, err, failed)
	case (err != nil || failed != nil) != (want.Error != "") && isBool:
		return fmt.Sprintf("want error %q, got %v, %v", want.Error, err, failed)
	}
	return ""
}

// A combinedCase is a case of combinedstatus.json.
type combinedCase struct {
	Collectors map[string]*control.StatusCollectorSpec
	Obj        map[string]any
	WECs       map[string]struct {
		Status     map[string]any
		LastUpdate time.Time
		Missing    bool
	}
	Expect struct {
		Results          []any
		ValidationErrors map[string][]string
		Panic            string
	}
}

func checkCombined(raw json.RawMessage) string {
	var c combinedCase
	if err := json.Unmarshal(raw, &c); err != nil {
		return err.Error()
	}
	in, invalid := c.input()
	status, ok := kubestellar.Combine(kubestellar.Upstream, in)
	switch {
	case !ok:
		return "no CombinedStatus"
	case c.Expect.Panic != "":
		if !hasErrors(status) {
			return "upstream panics, and here there is no error"
		}
		return ""
	}
	got, err := plain(sortRows(status.Results))
	if err != nil {
		return err.Error()
	}
	return record.Diff(withoutTexts(c.Expect.Results), withoutTexts(got)) + sameErrors(c.Expect.ValidationErrors, invalid)
}

func sameErrors(want, got map[string][]string) string {
	for name, errs := range want {
		if !slices.Equal(errs, got[name]) {
			return fmt.Sprintf("errors of %s: want %q, got %q", name, errs, got[name])
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("want errors %q, got %q", want, got)
	}
	return ""
}

// input binds the object to all clusters of the case, with all its collectors.
func (c combinedCase) input() (in kubestellar.Input, invalid map[string][]string) {
	obj := &unstructured.Unstructured{Object: record.Integers(c.Obj).(map[string]any)}
	kind := obj.GroupVersionKind()
	clause := control.DownsyncClause{Group: kind.Group, Version: kind.Version, Resource: "things", Namespace: obj.GetNamespace(), Name: obj.GetName()}
	in = kubestellar.Input{Object: obj, Resource: "things", Collectors: map[string]*kubestellar.Collector{}, Reports: map[string]kubestellar.Report{}}
	invalid = map[string][]string{}
	for name, spec := range c.Collectors {
		clause.StatusCollectors = append(clause.StatusCollectors, name)
		if spec == nil {
			continue
		}
		collector, err := kubestellar.Compile(*spec)
		if err != nil {
			invalid[name] = strings.Split(err.Error(), "\n\n")
			continue
		}
		in.Collectors[name] = collector
	}
	in.Binding = &control.Binding{}
	for name, wec := range c.WECs {
		in.Binding.Spec.Destinations = append(in.Binding.Spec.Destinations, control.Destination{ClusterID: name})
		if !wec.Missing {
			status, _ := record.Integers(wec.Status).(map[string]any)
			in.Reports[name] = kubestellar.Report{Status: status, LastUpdate: wec.LastUpdate}
		}
	}
	in.Binding.Spec.Workload.NamespaceScope = []control.DownsyncClause{clause}
	return in, invalid
}

func hasErrors(s *control.CombinedStatus) bool {
	return slices.ContainsFunc(s.Results, func(r control.NamedStatusCombination) bool {
		return len(r.RowErrors)+len(r.AggregationErrors) > 0
	})
}

// sortRows puts rows into the order of their JSON text, as the file has them.
func sortRows(results []control.NamedStatusCombination) []control.NamedStatusCombination {
	text := func(r control.StatusCombinationRow) string {
		fields, err := plain(r)
		data, err2 := json.Marshal(fields) // keys sorted
		return fmt.Sprint(string(data), errors.Join(err, err2))
	}
	for _, r := range results {
		slices.SortFunc(r.Rows, func(a, b control.StatusCombinationRow) int { return strings.Compare(text(a), text(b)) })
	}
	return results
}

func plain(v any) (out any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &out)
	if out == nil {
		out = []any{}
	}
	return out, err
}

// withoutTexts drops the texts and clusters of errors, which need not be equal; their columns must
// be.
func withoutTexts(results any) any {
	list, _ := results.([]any)
	for _, r := range list {
		result, _ := r.(map[string]any)
		for _, key := range []string{"rowErrors", "aggregationErrors"} {
			errs, _ := result[key].([]any)
			for _, e := range errs {
				if fields, ok := e.(map[string]any); ok {
					delete(fields, "error")
				}
			}
		}
	}
	return results
}

// checkMatching runs a case of matching.json.
func checkMatching(raw json.RawMessage) string {
	var c struct {
		Clauses    []control.DownsyncPolicyClause
		Object     kubestellar.Object
		Namespaces kubestellar.Namespaces
		Expect     struct {
			Matched    bool
			Modulation control.DownsyncModulation
		}
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err.Error()
	}
	got, matched := kubestellar.Match(c.Clauses, c.Object, c.Namespaces)
	if matched != c.Expect.Matched {
		return fmt.Sprintf("want matched %v, got %v", c.Expect.Matched, matched)
	}
	want, err := plain(c.Expect.Modulation)
	have, err2 := plain(got)
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	return record.Diff(want, have)
}

// checkHang runs a case of hang.json: an expression whose variables must be found. One that is not
// declared makes it invalid.
func checkHang(raw json.RawMessage) string {
	var c struct {
		Expression string
		Variables  []string
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err.Error()
	}
	declared := []string{"inventory", "obj", "propagation", "returned"}
	collector, err := kubestellar.Compile(control.StatusCollectorSpec{Filter: &c.Expression})
	if err != nil {
		unknown := func(name string) bool {
			return !slices.Contains(declared, name) && strings.Contains(err.Error(), "'"+name+"'")
		}
		if slices.ContainsFunc(c.Variables, unknown) {
			return ""
		}
		return err.Error()
	}
	if got := collector.Variables(); !slices.Equal(got, c.Variables) {
		return fmt.Sprintf("want variables %v, got %v", c.Variables, got)
	}
	return ""
}
