package lint

import (
	"fmt"
	"slices"
)

// overlaps finds the first later Stage without a weight that matches a probe that this Stage
// matches too.
func overlaps(s *checkedStage) []fault {
	if !s.compiles || s.weight.Given() {
		return nil
	}
	if other := s.firstBeside(); other != nil {
		return []fault{fieldFault("spec.selector", "let the selectors exclude one another, or give both a weight",
			"it can hold together with that of %q, and then one of the two is drawn", other.name)}
	}
	return nil
}

// firstBeside is the first later Stage without a weight that matches some natural probe as well.
func (s *checkedStage) firstBeside() *checkedStage {
	var first *checkedStage
	for _, l := range s.probeResults() {
		at, found := slices.BinarySearchFunc(l.unweighted, s.order, func(o *checkedStage, order int) int { return o.order - order })
		if !found || !l.natural || at+1 == len(l.unweighted) {
			continue
		}
		if other := l.unweighted[at+1]; first == nil || other.order < first.order {
			first = other
		}
	}
	return first
}

func neverWins(s *checkedStage) []fault {
	if s.weight.Given() {
		return nil
	}
	for _, other := range s.group.stages {
		if other != s && other.weight.Fixed() && s.compiles && other.compiles && s.matchesWithin(other) {
			return []fault{fieldFault("spec.weight", fmt.Sprintf("give it a weight, or make the selector of %q exclude it", other.name),
				"the stage has weight 0, and %q of weight %d matches whenever it does, so it never wins", other.name, other.weight.Constant)}
		}
	}
	return nil
}
