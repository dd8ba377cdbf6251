package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
)

// livelock finds a Stage that follows itself on every probe, or is part of a ring of Stages that must follow one another.
func livelock(s *subject) []fault {
	if n := s.loops(); n > 0 && n == len(s.changing()) && !s.timed() {
		return []fault{whole("spec", "give it a delay, or let the selector end it",
			"it still matches after its effects, without delay, and changes the object every time: a livelock")}
	}
	if ring := s.ring(); len(ring) > 1 {
		return []fault{whole("spec", "give one of them a delay, or let a selector end it",
			"%s follow one another without delay for ever: a livelock", strings.Join(ring, ", "))}
	}
	return nil
}

func timeLoop(s *subject) []fault {
	if n := s.loops(); n > 0 && n == len(s.changing()) && s.timed() {
		at := s.printsTime()
		at.message = "the time makes every patch differ, so it is never left out as a change of nothing, while the stage still matches without delay"
		at.advice = "give the stage a delay, or let the selector end it"
		return []fault{at}
	}
	return nil
}

// changing are the looks at probes that the Stage changes, as far as they tell: a field that a template reads and the probe does not have
// might have ended it.
func (s *subject) changing() []stage.StageExplanation {
	return slices.DeleteFunc(s.matched(), func(v stage.StageExplanation) bool {
		return v.DryRun.Idle || v.DryRun.After == nil || !s.readsOnly(v.DryRun.After.Object)
	})
}

// loops is on how many probes the Stage goes on by itself.
func (s *subject) loops() (n int) {
	for _, v := range s.changing() {
		if v.DryRun.Livelock {
			n++
		}
	}
	return n
}

// timed reports whether the Stage goes on only because time does: at one instant the second play changes nothing.
func (s *subject) timed() bool {
	return !slices.ContainsFunc(s.changing(), func(v stage.StageExplanation) bool {
		return v.DryRun.Livelock && !s.peers.after(v).verdicts[s].DryRun.Idle
	})
}

// timeFunction is one of a template that gives the time.
var timeFunction = regexp.MustCompile(`\b(Now|now)\b`)

// printsTime is the first place where a template prints the time.
func (s *subject) printsTime() fault {
	for _, t := range s.templates {
		if at := timeFunction.FindStringIndex(t.text); at != nil {
			return fault{path: t.path, offset: at[0]}
		}
	}
	return fault{path: "spec", offset: -1}
}

// ring follows the Stages that must be played at once from the probes of this one. It returns the names of those that lead back to it, if
// it is the first of them in the sources.
func (s *subject) ring() []string {
	for _, l := range s.probes() {
		if names := s.follow(l); names != nil {
			return names
		}
	}
	return nil
}

// longest is how many Stages of a ring are followed.
const longest = 16

func (s *subject) follow(l *look) []string {
	var names []string
	met := map[*look]bool{}
	for range longest {
		next, v := l.certain()
		switch {
		case next == nil || len(names) == 0 && next != s:
			return nil
		case met[l] && next == s:
			return names
		case met[l] || slices.Index(s.peers.subjects, next) < slices.Index(s.peers.subjects, s):
			return nil
		}
		met[l] = true
		if name := strconv.Quote(next.name); !slices.Contains(names, name) {
			names = append(names, name)
		}
		l = s.peers.after(v)
	}
	return nil
}

// certain is the Stage that is sure to be played at once on the probe and to change it; nil if there is none.
func (l *look) certain() (*subject, stage.StageExplanation) {
	for s, v := range l.verdicts {
		after := v.DryRun.After
		if v.Candidate.Probability == 1 && v.Delay.Range.Max <= 0 && after != nil && !v.DryRun.Idle && s.readsOnly(after.Object) {
			return s, v
		}
	}
	return nil, stage.StageExplanation{}
}
