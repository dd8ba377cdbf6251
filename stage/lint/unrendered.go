package lint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// chartFields are the top-level fields that a template of Helm reads, and that no object has.
var chartFields = []string{"Values", "Release", "Chart", "Capabilities"}

const renderFirst = "render the chart first, with helm template"

// unrendered finds what Helm, or another tool, should have rendered before: templates that read
// values of a chart, actions in fields that are not templates, and actions in the output of a
// template.
func unrendered(s *checkedStage) []fault {
	var faults []fault
	for _, v := range s.plainTexts() {
		text, _ := v.value.(string)
		if at := strings.Index(text, "{{"); at >= 0 {
			faults = append(faults, fault{v.name, at, "this field is no template, so the action in it stays text", renderFirst})
		}
	}
	for _, t := range s.templates {
		if name := t.chartField(); name != "" {
			faults = append(faults, fault{t.path, strings.Index(t.text, "."+name), "." + name + " is what a chart has: of an object it is always missing", renderFirst})
			continue
		}
		if v, found := s.writes(t, "{{"); found {
			faults = append(faults, fault{t.path, t.offsetOf(v.key), "what it writes to " + v.name + " still has an action of a template in it", renderFirst})
		}
	}
	return faults
}

// plainTexts are the fields of the Stage that are not templates.
func (s *checkedStage) plainTexts() []scalar {
	var spec map[string]any
	raw, err := json.Marshal(s.spec)
	if err != nil || json.Unmarshal(raw, &spec) != nil {
		return nil
	}
	list := append([]scalar{{"metadata.name", "name", s.name}}, scalarsIn("spec", "spec", spec)...)
	return slices.DeleteFunc(list, func(v scalar) bool { return v.key == "template" || v.key == "statusTemplate" })
}

// chartField is the first of chartFields that a template reads; "" if it reads none.
func (t template) chartField() string {
	for _, r := range t.fieldsRead() {
		if name := r.fields()[0]; slices.Contains(chartFields, name) {
			return name
		}
	}
	return ""
}

// writes returns the first key or string with a text in it, in the output of a template on a probe.
func (s *checkedStage) writes(t template, text string) (scalar, bool) {
	for _, obj := range s.templateObjects() {
		for _, v := range scalars(s.rendered(t, obj)) {
			if value, _ := v.value.(string); strings.Contains(value, text) || strings.Contains(position.Field(v.name, v.key), text) {
				return v, true
			}
		}
	}
	return scalar{}, false
}
