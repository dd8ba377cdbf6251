package stage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/selector"
)

// String prints the explanation for a person at a terminal. The first line says what can happen
// next, or why nothing can. Then come the Stages, each with its requirements (✓ holds, ✗ does not).
// A Stage that matches also has its chance, weight, delay and effects.
func (e Explanation) String() string {
	var b strings.Builder
	if e.Key.Kind != "" {
		b.WriteString(e.Key.String() + ": ")
	}
	b.WriteString(printable.Line(e.answer()) + "\n")
	for _, v := range e.Stages {
		b.WriteString("\n")
		v.write(&b)
	}
	return b.String()
}

// answer is the first line.
func (e Explanation) answer() string {
	possible := e.possible()
	switch {
	case e.Key.Kind == "":
		return "nothing happens: the object has no kind"
	case len(e.Stages) == 0:
		return "nothing happens: no stage is for " + kindName(e.Key) + "; " + e.known()
	case e.leaves:
		return "nothing happens: it is deleted, with a grace period of 0 and no finalizers"
	case len(possible) == 0:
		return "nothing happens: " + e.closest()
	case len(possible) == 1:
		return possible[0].next()
	}
	chances := make([]string, len(possible))
	for i, v := range possible {
		chances[i] = fmt.Sprintf("%q (%s) %s%s", v.Stage, percent(v.Candidate.Probability), when(v.Delay.Range), v.DryRun.but())
	}
	return fmt.Sprintf("next is one of %d: %s", len(possible), strings.Join(chances, ", "))
}

// next is the first line where only one Stage can be played.
func (v StageExplanation) next() string {
	at := when(v.Delay.Range)
	switch {
	case v.DryRun.Err != nil:
		return fmt.Sprintf("nothing happens: %q is tried %s, but its effects fail", v.Stage, at)
	case v.DryRun.Idle && !v.DryRun.sends:
		return fmt.Sprintf("nothing happens: %q is played %s, but the object is already as it would leave it", v.Stage, at)
	default:
		return fmt.Sprintf("next is %q, %s%s", v.Stage, at, v.DryRun.but())
	}
}

// but says why a Stage is not played like any other.
func (o DryRun) but() string {
	switch {
	case o.Err != nil:
		return ", but its effects fail"
	case o.Livelock:
		return ", and again without delay: a livelock"
	case o.Idle && !o.sends:
		return ", but it changes nothing"
	case o.Idle:
		return ", which leaves the object as it is"
	}
	return ""
}

// possible are the Stages that can be played.
func (e Explanation) possible() []StageExplanation {
	return slices.DeleteFunc(slices.Clone(e.Stages), func(v StageExplanation) bool { return v.Candidate.Probability == 0 })
}

func kindName(k Key) string { return k.GroupVersionKind().GroupVersion().String() + " " + k.Kind }

func (e Explanation) known() string {
	if len(e.Kinds) == 0 {
		return "the set has none at all"
	}
	names := make([]string, len(e.Kinds))
	for i, k := range e.Kinds {
		names[i] = k.GroupVersion().String() + " " + k.Kind
	}
	return "the set has stages for " + strings.Join(names, ", ")
}

// closest names the Stages that lack the fewest requirements.
func (e Explanation) closest() string {
	var names []string
	least := math.MaxInt
	for _, v := range e.Stages {
		n := v.lacks()
		if n < least {
			least, names = n, nil
		}
		if n == least {
			names = append(names, strconv.Quote(v.Stage))
		}
	}
	short := "1 requirement"
	if least != 1 {
		short = fmt.Sprintf("%d requirements", least)
	}
	return fmt.Sprintf("no stage matches; closest, %s short: %s", short, strings.Join(names, ", "))
}

func (v StageExplanation) lacks() (n int) {
	for _, r := range v.Requirements {
		if !r.OK {
			n++
		}
	}
	return n
}

func when(r delay.Range) string {
	switch {
	case r.Max <= 0:
		return "at once"
	case r.Max <= r.Min || r.Drawn():
		return "in " + r.String()
	default:
		return "in " + max(r.Min, 0).String() + " to " + r.Max.String()
	}
}

func percent(p float64) string { return strconv.FormatFloat(100*p, 'g', 3, 64) + "%" }

func (v StageExplanation) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s %q%s", mark(v.Matches), v.Stage, place(v.Locate("metadata.name")))
	if v.Matches {
		b.WriteString(", chance " + percent(v.Candidate.Probability))
	}
	b.WriteString("\n")
	for _, r := range v.Requirements {
		b.WriteString("  " + mark(r.OK) + " " + printable.Line(v.requirement(r)) + "\n")
	}
	if !v.Matches {
		return
	}
	for _, line := range append([]string{v.weight(), v.delay()}, v.DryRun.lines()...) {
		b.WriteString("  " + printable.Line(line) + "\n")
	}
}

func mark(ok bool) string {
	if ok {
		return "✓"
	}
	return "✗"
}

// requirement prints a requirement. It leaves out the place of a requirement that holds.
func (v StageExplanation) requirement(r selector.Requirement) string {
	s := r.Text + ": saw " + list(r.Seen)
	if r.Err != nil {
		s += "; failed: " + printable.Error(r.Err)
	}
	if !r.OK {
		s += " (" + r.Path + place(v.Locate(r.Path)) + ")"
	}
	return s
}

// list prints values. Without a value it prints "nothing".
func list(values []any) string {
	if !slices.ContainsFunc(values, func(v any) bool { return v != nil }) {
		return "nothing"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = value(v)
	}
	return strings.Join(texts, ", ")
}

// widest is the largest number of characters that are printed for a value or an effect.
const widest = 160

func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case time.Duration:
		return v.String()
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	default:
		return clipped(object.Readable(v))
	}
}

func clipped(s string) string {
	if runes := []rune(s); len(runes) > widest {
		return string(runes[:widest]) + "…"
	}
	return s
}

func (v StageExplanation) weight() string {
	w := v.Weight
	if w.Value == 0 && w.Path == "spec."+parts.WeightPath {
		w.Path = "" // the Stage has no weight, or 0, which means the default
	}
	if !w.Given {
		return "no weight" + origin(w.Path, w.Text, w.Seen, w.Err)
	}
	return fmt.Sprintf("weight %d", w.Value) + origin(w.Path, w.Text, w.Seen, w.Err)
}

func (v StageExplanation) delay() string {
	s, all := "delay "+v.Delay.Range.String(), v.Delay.Parts
	if len(all) > 0 && all[0].Name == parts.DurationName {
		s, all = s+": "+part(all[0]), all[1:]
	}
	if x := v.Delay.Extension; x != nil {
		s += "; " + x.String() + " from " + position.Field("metadata.annotations", delay.ExtensionAnnotation)
	}
	for _, p := range all {
		s += "; " + part(p)
	}
	return s
}

// part prints a part of a delay: its name, its value and its origin.
func part(p delay.Evaluation) string {
	if p.Meaning != "" {
		return p.Name + ", " + p.Meaning + "," + evaluation(p)
	}
	return p.Name + evaluation(p)
}

func evaluation(e delay.Evaluation) string {
	if !e.Given {
		return " none" + origin(e.Path, e.Text, e.Seen, e.Err)
	}
	return " " + e.Value.String() + origin(e.Path, e.Text, e.Seen, e.Err)
}

// origin tells where a value comes from, and the result of its expression, if any.
func origin(path, text string, seen any, err error) string {
	if path == "" {
		path = "default"
	}
	s := " from " + path
	if text != "" {
		s += fmt.Sprintf(" (%s gave %s", text, value(seen))
		if err != nil {
			s += ": " + printable.Error(err)
		}
		s += ")"
	}
	return s
}

// lines prints the effects and their result.
func (o DryRun) lines() []string {
	var lines []string
	for _, e := range o.Effects {
		lines = append(lines, clipped(e.String()))
	}
	switch {
	case o.Err != nil:
		return append(lines, "! the effects fail: "+printable.Error(o.Err))
	case o.Livelock:
		return append(lines, "! livelock: it matches again at once after its effects, and changes the object again")
	case o.Idle:
		return append(lines, "! the effects leave the object as it is: the stage is played once, then not before somebody else changes the object")
	}
	return lines
}
