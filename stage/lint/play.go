package lint

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// overlaps finds the first later Stage without a weight that matches a probe beside this one.
func overlaps(s *subject) []fault {
	if !s.compiles || s.weighted() {
		return nil
	}
	behind := s.peers.compiled()
	for _, other := range behind[slices.Index(behind, s)+1:] {
		if !other.weighted() && slices.ContainsFunc(s.peers.probes(), func(l look) bool { return l.natural && l.verdicts[s].Matches && l.verdicts[other].Matches }) {
			return []fault{whole("spec.selector", "let the selectors exclude one another, or give both a weight",
				"it can hold together with that of %q, and then one of the two is drawn", other.name)}
		}
	}
	return nil
}

func jitterBelow(s *subject) []fault {
	d := s.spec.Delay
	if d == nil || d.DurationMilliseconds == nil || d.JitterDurationMilliseconds == nil || *d.JitterDurationMilliseconds >= *d.DurationMilliseconds {
		return nil
	}
	return []fault{whole("spec.delay.jitterDurationMilliseconds", "write the sum of both, or leave it out",
		"the jitter is the upper bound of the delay, not added to it: where both fields count, the delay is %d ms, not %d or more",
		*d.JitterDurationMilliseconds, *d.DurationMilliseconds)}
}

// shortest is the least number of nanoseconds that anybody means.
const shortest = time.Millisecond

func numericDuration(s *subject) []fault {
	var faults []fault
	for _, e := range s.expressions {
		if !strings.HasPrefix(e.path, "spec.delay.") || hyphenated.MatchString(e.text) {
			continue
		}
		if message, advice := s.numeric(e); message != "" {
			faults = append(faults, whole(e.path, advice, "%s", message))
		}
	}
	return faults
}

// numeric says what is wrong with a delay that is a number: by what it reads from probes, by its form, or by its name, which tells the unit of API fields.
func (s *subject) numeric(e expression) (message, advice string) {
	seen := s.seen(e)
	if e.cel {
		n, isInt := seen.(int64)
		if lit, err := strconv.ParseInt(strings.TrimSpace(e.text), 10, 64); err == nil {
			n, isInt = lit, true
		}
		if isInt && n != 0 && time.Duration(n).Abs() < shortest || namesUnit(e.text) {
			return "a number in CEL is nanoseconds", `write duration("5s"), or duration(string(…) + "s")`
		}
		return "", ""
	}
	_, isInt := seen.(int64)
	_, isFloat := seen.(float64)
	q, err := gojq.Parse(e.text)
	if isInt || isFloat || err == nil && (isNumeric(q) || namesUnit(e.text)) {
		return "a number from jq is no delay, so the milliseconds count", `make it text with a unit: … | tostring + "s"`
	}
	return "", ""
}

// seen is what the expression of a delay gave on a probe; nil if nothing.
func (s *subject) seen(e expression) any {
	for _, v := range s.matched() {
		for _, r := range []delay.Reading{v.Delay.Duration, v.Delay.Jitter} {
			if r.Text == e.text && r.Seen != nil {
				return r.Seen
			}
		}
	}
	return nil
}

// namesUnit reports whether the expression is a path to a field that has a number by the conventions of the Kubernetes API.
func namesUnit(text string) bool {
	text = strings.TrimSpace(text)
	plain := strings.HasPrefix(text, "self.") || strings.HasPrefix(text, ".")
	return plain && !strings.ContainsAny(text, " |()\"") && (strings.HasSuffix(text, "Seconds") || strings.HasSuffix(text, "Milliseconds"))
}

// A part is one of the parts of next, and whether a step does it.
type part struct {
	field string
	given func(*v1alpha1.StageNext) bool
	done  func(*v1alpha1.StageNext, v1alpha1.StageStep) bool
}

var parts = []part{
	{"event", func(n *v1alpha1.StageNext) bool { return n.Event != nil },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return reflect.DeepEqual(st.Event, n.Event) }},
	{"finalizers", func(n *v1alpha1.StageNext) bool { return n.Finalizers != nil },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool {
			return reflect.DeepEqual(st.Finalizers, n.Finalizers)
		}},
	{"delete", func(n *v1alpha1.StageNext) bool { return n.Delete },
		func(_ *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return st.Delete }},
	{"statusTemplate", func(n *v1alpha1.StageNext) bool { return n.StatusTemplate != "" },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return sends(st, n.StatusTemplate) }},
	{"patches", func(n *v1alpha1.StageNext) bool { return len(n.Patches) > 0 },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool {
			return sends(st, n.Patches[len(n.Patches)-1].Template)
		}},
}

func sends(st v1alpha1.StageStep, text string) bool {
	return st.Patch != nil && strings.TrimSpace(st.Patch.Template) == strings.TrimSpace(text)
}

// ignoredNext leaves alone what kwok writes when it exports Stages: next as far as it can say what steps say.
func ignoredNext(s *subject) []fault {
	n := s.spec.Next
	if n == nil || len(s.spec.Steps) == 0 {
		return nil
	}
	var faults []fault
	for _, p := range parts {
		if p.given(n) && !slices.ContainsFunc(s.spec.Steps, func(st v1alpha1.StageStep) bool { return p.done(n, st) }) {
			faults = append(faults, whole("spec.next."+p.field, "move it to steps", "next is ignored beside steps, and no step does this"))
		}
	}
	return faults
}

// noEffect finds Stages without effects, and those whose patches, without template actions, only say what their selectors require.
func noEffect(s *subject) []fault {
	n, steps := s.spec.Next, s.spec.Steps
	idle := len(steps) == 0 && (n == nil || reflect.ValueOf(*n).IsZero())
	idle = idle || len(steps) > 0 && !slices.ContainsFunc(steps, func(st v1alpha1.StageStep) bool { return st != v1alpha1.StageStep{} })
	switch {
	case s.name != "" && idle:
		return []fault{whole("spec", "give it steps, or remove it", "the stage does nothing")}
	case s.onlyPatches() && !slices.ContainsFunc(s.templates, func(t template) bool { return !s.says(t) }):
		return []fault{whole("spec", "check what it patches against its selector", "its patches say what the selector requires already, so the stage changes nothing")}
	}
	return nil
}

// onlyPatches reports whether patches are all that the Stage does.
func (s *subject) onlyPatches() bool {
	if n := s.spec.Next; len(s.spec.Steps) == 0 && (n == nil || n.Event != nil || n.Finalizers != nil || n.Delete) {
		return false
	}
	return len(s.templates) > 0 && !slices.ContainsFunc(s.spec.Steps, func(st v1alpha1.StageStep) bool {
		return st.Event != nil || st.Finalizers != nil || st.Delete || st.Apply != nil
	})
}

// says reports whether the selector requires all that a template without actions writes.
func (s *subject) says(t template) bool {
	if strings.Contains(t.text, "{{") {
		return false
	}
	p, ok := s.rendered(t, fresh(s.kind)[0]).(stage.Patch)
	return ok && s.requires(nil, p.Data)
}

// requires reports whether the selector lets a field have this value only. Lists and null say more than that.
func (s *subject) requires(at path, v any) bool {
	if m, ok := v.(map[string]any); ok && len(m) > 0 {
		for name, field := range m {
			if !s.requires(append(slices.Clone(at), step{field: name, index: -1}), field) {
				return false
			}
		}
		return true
	}
	text, ok := v.(string)
	return ok && slices.ContainsFunc(s.requirements, func(r requirement) bool {
		return r.key == at.String() && r.operator == v1alpha1.SelectorOpIn && !slices.ContainsFunc(r.values, func(want string) bool { return want != text })
	})
}

// livelock finds a Stage that follows itself on every probe, or is part of a ring of Stages that must follow one another.
func livelock(s *subject) []fault {
	if n := s.loops(); n > 0 && n == len(s.changing()) && !s.timed() {
		return []fault{whole("spec", "give it a delay, or let the selector end it", "it still matches after its effects, without delay, and changes the object every time: a livelock")}
	}
	if ring := s.ring(); len(ring) > 1 {
		return []fault{whole("spec", "give one of them a delay, or let a selector end it", "%s follow one another without delay for ever: a livelock", strings.Join(ring, ", "))}
	}
	return nil
}

func timeLoop(s *subject) []fault {
	if n := s.loops(); n > 0 && n == len(s.changing()) && s.timed() {
		at := s.printsTime()
		return []fault{{at.path, at.offset, "the time makes every patch differ, so it is never left out as a change of nothing, while the stage still matches without delay",
			"give the stage a delay, or let the selector end it"}}
	}
	return nil
}

// changing are the looks at probes that the Stage changes, as far as they tell: a field that a template reads and the probe does not have might have ended it.
func (s *subject) changing() []stage.Verdict {
	return slices.DeleteFunc(s.matched(), func(v stage.Verdict) bool {
		return v.Outcome.Idle || v.Outcome.After == nil || !s.readsOnly(v.Outcome.After.Object)
	})
}

// loops is on how many probes the Stage goes on by itself.
func (s *subject) loops() (n int) {
	for _, v := range s.changing() {
		if v.Outcome.Livelock {
			n++
		}
	}
	return n
}

// timed reports whether the Stage goes on only because time does: at one instant the second play changes nothing.
func (s *subject) timed() bool {
	return !slices.ContainsFunc(s.changing(), func(v stage.Verdict) bool {
		return v.Outcome.Livelock && !s.peers.look(probe{obj: v.Outcome.After}).verdicts[s].Outcome.Idle
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

// ring follows the Stages that must be played at once from the probes of this one. It returns the names of those that lead back to it, if it is the first of
// them in the sources.
func (s *subject) ring() []string {
	if !s.compiles {
		return nil
	}
	for _, l := range s.peers.probes() {
		if names := s.follow(l); names != nil {
			return names
		}
	}
	return nil
}

// longest is how many Stages of a ring are followed.
const longest = 16

func (s *subject) follow(l look) []string {
	var names []string
	met := map[string]bool{}
	for range longest {
		next, v := l.certain()
		if next == nil || len(names) == 0 && next != s || met[identity(l.obj)] {
			return nil
		}
		met[identity(l.obj)] = true
		if names = append(names, strconv.Quote(next.name)); slices.Index(s.peers.subjects, next) < slices.Index(s.peers.subjects, s) {
			return nil
		}
		l = s.peers.look(probe{obj: v.Outcome.After})
		if first, again := l.certain(); first == s && met[identity(l.obj)] && again.Outcome.After != nil {
			return names
		}
	}
	return nil
}

// certain is the Stage that is sure to be played at once on the probe and to change it; nil if there is none.
func (l look) certain() (*subject, stage.Verdict) {
	for s, v := range l.verdicts {
		after := v.Outcome.After
		if v.Candidate.Probability == 1 && v.Delay.Range.Max <= 0 && after != nil && !v.Outcome.Idle && s.readsOnly(after.Object) {
			return s, v
		}
	}
	return nil, stage.Verdict{}
}
