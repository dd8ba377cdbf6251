package lint

import (
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
)

func (s *checkedStage) patchesByExtension() bool {
	return s.stage.Annotations[stage.PatchesExtension] != ""
}

// conditionStatus finds conditions without a status in the effects of a Stage with the extension on
// probes.
func conditionStatus(s *checkedStage) []fault {
	if !s.patchesByExtension() {
		return nil
	}
	for _, v := range s.playable() {
		for _, e := range v.DryRun.Effects {
			if name := withoutStatus(e); name != "" {
				return []fault{fieldFault(position.Field("metadata.annotations", stage.PatchesExtension), "add a status to its template",
					"the condition %s gets no status where the object does not have it yet", name)}
			}
		}
	}
	return nil
}

// withoutStatus is the type of a condition that an effect writes without a status, or "".
func withoutStatus(e stage.Effect) string {
	p, _ := e.(stage.Patch)
	ops, _ := p.Data.([]any)
	for _, op := range ops {
		fields, _ := op.(map[string]any)
		if name := conditionWithoutStatus(fields["value"]); name != "" {
			return name
		}
	}
	return ""
}

// conditionWithoutStatus looks into the objects and lists around the condition, which are written
// with it if they are missing.
func conditionWithoutStatus(v any) string {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return conditionWithoutStatus(v[0])
		}
	case map[string]any:
		name, isCondition := v["type"].(string)
		_, given := v["status"]
		if isCondition && !given {
			return name
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if name := conditionWithoutStatus(v[key]); name != "" {
				return name
			}
		}
	}
	return ""
}
