package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
)

// livelock finds a Stage that repeats itself on every probe, or that is in a cycle of Stages that
// must follow one another at once.
func livelock(s *checkedStage) []fault {
	if n := s.selfLoops(); n > 0 && n == len(s.changing()) && !s.dependsOnTime() {
		return []fault{fieldFault("spec", "give it a delay, or let the selector end it",
			"it still matches after its effects, without delay, and changes the object every time: a livelock")}
	}
	if ring := s.immediateCycle(); len(ring) > 1 {
		return []fault{fieldFault("spec", "give one of them a delay, or let a selector end it",
			"%s follow one another without delay for ever: a livelock", strings.Join(ring, ", "))}
	}
	return nil
}

func timeLoop(s *checkedStage) []fault {
	if n := s.selfLoops(); n > 0 && n == len(s.changing()) && s.dependsOnTime() {
		at := s.timeUse()
		at.message = "the time makes every patch differ, so it is never left out as a change of nothing, while the stage still matches without delay"
		at.advice = "give the stage a delay, or let the selector end it"
		return []fault{at}
	}
	return nil
}

// changing are the explanations for probes that the Stage changes. It leaves out probes without a
// field that a template reads: with that field the Stage might have ended.
func (s *checkedStage) changing() []stage.StageExplanation {
	return slices.DeleteFunc(s.playable(), func(v stage.StageExplanation) bool {
		return v.DryRun.Idle || v.DryRun.After == nil || !s.hasFieldsRead(v.DryRun.After.Object)
	})
}

// selfLoops counts the probes on which the Stage repeats itself.
func (s *checkedStage) selfLoops() (n int) {
	for _, v := range s.changing() {
		if v.DryRun.Livelock && s.group.resultAfter(v).matching[s].Candidate.Probability > 0 {
			n++
		}
	}
	return n
}

// dependsOnTime reports whether the Stage repeats only because time passes: at the same instant,
// playing it again changes nothing.
func (s *checkedStage) dependsOnTime() bool {
	return !slices.ContainsFunc(s.changing(), func(v stage.StageExplanation) bool {
		return v.DryRun.Livelock && !s.set.Explain(v.DryRun.After, now).Stages[0].DryRun.Idle
	})
}

// timeFunction is a template function that returns the current time.
var timeFunction = regexp.MustCompile(`\b(Now|now)\b`)

// timeUse is the first place where a template prints the current time.
func (s *checkedStage) timeUse() fault {
	for _, t := range s.templates {
		if at := timeFunction.FindStringIndex(t.text); at != nil {
			return fault{path: t.path, offset: at[0]}
		}
	}
	return fault{path: "spec", offset: -1}
}

// immediateCycle follows the Stages that must be played at once, starting from the probes of this
// Stage. It returns the names of the Stages that lead back to this Stage, if this Stage is the
// first of them in the sources.
func (s *checkedStage) immediateCycle() []string {
	for _, l := range s.probeResults() {
		if names := s.cycleFrom(l); names != nil {
			return names
		}
	}
	return nil
}

// maxCycle is the largest number of Stages in a cycle that is found.
const maxCycle = 16

func (s *checkedStage) cycleFrom(l *probeResult) []string {
	var names []string
	met := map[*probeResult]bool{}
	for range maxCycle {
		next, v := l.certainNext()
		switch {
		case next == nil || len(names) == 0 && next != s:
			return nil
		case met[l] && next == s:
			return names
		case met[l] || next.order < s.order:
			return nil
		}
		met[l] = true
		if name := strconv.Quote(next.name); !slices.Contains(names, name) {
			names = append(names, name)
		}
		l = s.group.resultAfter(v)
	}
	return nil
}

// certainNext returns the Stage that will certainly be played at once on the probe and change it;
// nil without such a Stage.
func (l *probeResult) certainNext() (*checkedStage, stage.StageExplanation) {
	v := l.matching[l.certain]
	if after := v.DryRun.After; after == nil || v.DryRun.Idle || !l.certain.hasFieldsRead(after.Object) {
		return nil, stage.StageExplanation{}
	}
	return l.certain, v
}
