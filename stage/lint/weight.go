package lint

import (
	"fmt"
	"slices"
)

// overlaps finds the first later Stage without a weight that matches a probe beside this one.
func overlaps(s *subject) []fault {
	if !s.compiles || s.weighted() {
		return nil
	}
	behind := s.peers.compiled()
	for _, other := range behind[slices.Index(behind, s)+1:] {
		if !other.weighted() && s.meets(other) {
			return []fault{whole("spec.selector", "let the selectors exclude one another, or give both a weight",
				"it can hold together with that of %q, and then one of the two is drawn", other.name)}
		}
	}
	return nil
}

// meets reports whether both Stages match some probe that is natural.
func (s *subject) meets(other *subject) bool {
	return slices.ContainsFunc(s.probes(), func(l *look) bool { return l.natural && l.verdicts[other].Matches })
}

func neverWins(s *subject) []fault {
	if s.weighted() {
		return nil
	}
	for _, other := range s.peers.subjects {
		if other != s && other.heavy() && s.compiles && other.compiles && s.implied(other) {
			return []fault{whole("spec.weight", fmt.Sprintf("give it a weight, or make the selector of %q exclude it", other.name),
				"the stage has weight 0, and %q of weight %d matches whenever it does, so it never wins", other.name, other.spec.Weight)}
		}
	}
	return nil
}

func (s *subject) weighted() bool { return s.spec.Weight > 0 || s.spec.WeightFrom != nil }

// heavy reports whether the Stage has a weight above 0 on every object.
func (s *subject) heavy() bool { return s.spec.Weight > 0 && s.spec.WeightFrom == nil }
