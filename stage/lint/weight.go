package lint

import (
	"fmt"
	"slices"
)

// overlaps finds the first later Stage without a weight that matches a probe that this Stage
// matches too.
func overlaps(s *checkedStage) []fault {
	if !s.compiles || s.hasWeight() {
		return nil
	}
	behind := s.group.compiled()
	for _, other := range behind[slices.Index(behind, s)+1:] {
		if !other.hasWeight() && s.matchesTogether(other) {
			return []fault{fieldFault("spec.selector", "let the selectors exclude one another, or give both a weight",
				"it can hold together with that of %q, and then one of the two is drawn", other.name)}
		}
	}
	return nil
}

// matchesTogether reports whether both Stages match some natural probe.
func (s *checkedStage) matchesTogether(other *checkedStage) bool {
	return slices.ContainsFunc(s.probeResults(), func(l *probeResult) bool { return l.natural && l.matching[other].Matches })
}

func neverWins(s *checkedStage) []fault {
	if s.hasWeight() {
		return nil
	}
	for _, other := range s.group.stages {
		if other != s && other.hasFixedWeight() && s.compiles && other.compiles && s.matchesWithin(other) {
			return []fault{fieldFault("spec.weight", fmt.Sprintf("give it a weight, or make the selector of %q exclude it", other.name),
				"the stage has weight 0, and %q of weight %d matches whenever it does, so it never wins", other.name, other.spec.Weight)}
		}
	}
	return nil
}

func (s *checkedStage) hasWeight() bool { return s.spec.Weight > 0 || s.spec.WeightFrom != nil }

// hasFixedWeight reports whether the Stage has a weight above 0 on every object.
func (s *checkedStage) hasFixedWeight() bool { return s.spec.Weight > 0 && s.spec.WeightFrom == nil }
