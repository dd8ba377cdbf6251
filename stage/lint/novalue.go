package lint

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
)

// noValue finds templates that print <no value>, which stands for a missing field, into a patch.
// It trusts only objects whose status the Stages wrote, and fills in the fields that users choose.
func noValue(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Patch == nil || t.chartField() != "" {
			continue
		}
		if v, found := s.printsNoValue(t); found {
			faults = append(faults, fault{t.path, t.offsetOf(v.key), "it writes <no value> to " + v.name + ": the selector also matches objects without a field that it reads",
				`require the field in the selector, or give a value: {{ or .status.field "…" }}`})
		}
	}
	return faults
}

const missingValue = "<no value>"

// printsNoValue returns the first value with <no value> in it that a template writes.
func (s *checkedStage) printsNoValue(t template) (scalar, bool) {
	for _, l := range s.probeResults() {
		if !l.natural {
			continue
		}
		p, _ := s.rendered(t, t.withText(l.obj, sampleText)).(stage.Patch)
		for _, v := range scalarsIn("", "", p.Data) {
			if text, _ := v.value.(string); strings.Contains(text, missingValue) {
				return v, true
			}
		}
	}
	return scalar{}, false
}
