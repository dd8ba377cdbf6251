package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// String prints each State with its transitions and their changes, and then the Findings.
func (g *Graph) String() string {
	var b strings.Builder
	for _, s := range g.States {
		fmt.Fprintf(&b, "%d %s%s\n", s.ID, printable.Text(s.Label), s.notes(slices.Contains(g.Starts, s.ID)))
		for t := range g.From(s.ID) {
			t.print(&b)
		}
	}
	for _, f := range g.Findings() {
		b.WriteString(f + "\n")
	}
	return b.String()
}

func (s State) notes(start bool) (notes string) {
	for _, m := range []struct {
		is   bool
		text string
	}{{start, "start"}, {s.TimeDependent, "depends on the time"}, {s.Unexplored, "not explored"}} {
		if m.is {
			notes += " (" + m.text + ")"
		}
	}
	return notes
}

func (t Transition) print(b *strings.Builder) {
	if t.Action != "" {
		fmt.Fprintf(b, "  user: %s → %d\n", printable.Text(t.Action), t.To)
	} else {
		fmt.Fprintf(b, "  %s %s%s → %d\n", printable.Text(t.Stage), t.chanceText(), FormatDelay(t.Delay), t.To)
	}
	for _, c := range t.Changes {
		fmt.Fprintf(b, "    %s\n", c)
	}
	if t.Err != nil {
		fmt.Fprintf(b, "    failed: %s\n", printable.Error(t.Err))
	}
}

// chanceText is the chance of a Stage that is not certain.
func (t Transition) chanceText() string {
	if t.Chance == 1 {
		return ""
	}
	return FormatPercent(t.Chance) + " "
}

// FormatPercent prints a probability with two significant digits, such as 50%, 0.01% or 99.99%.
// Only a certain event is 100%, and only an impossible one 0%.
func FormatPercent(chance float64) string {
	switch {
	case chance > 0.99 && chance < 1:
		return fmt.Sprintf("%.6g%%", 100-100*(1-chance))
	case chance >= 0.1:
		return fmt.Sprintf("%.3g%%", 100*chance)
	}
	return fmt.Sprintf("%.2g%%", 100*chance)
}

// FormatDelay prints a delay: 1s–5s, 5s, or "at once".
func FormatDelay(d delay.Range) string {
	low, high := max(d.Min, 0), max(d.Max, 0)
	switch {
	case d.Drawn():
		return d.String()
	case high == 0:
		return "at once"
	case low == high:
		return formatDuration(low)
	case low == 0:
		return "0–" + formatDuration(high)
	}
	return formatDuration(low) + "–" + formatDuration(high)
}

// formatDuration prints a duration without units that are zero.
func formatDuration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Millisecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Findings describes, in sentences, the Stages that are never played, the States in which nothing
// follows, the loops, and the States in which chance decides.
func (g *Graph) Findings() (found []string) {
	outweighed, bounded, absent := g.Outweighed(), g.Truncated(), map[schema.GroupVersionKind]bool{}
	for _, st := range g.Unplayed() {
		if !g.hasObject(st.Kind) {
			if !absent[st.Kind] {
				found = append(found, fmt.Sprintf("never played: the stages of %s, because no object that is explored is of this kind", printable.Text(st.Kind.Kind)))
			}
			absent[st.Kind] = true
			continue
		}
		why := "does not match any state"
		if slices.Contains(outweighed, st) {
			why = "matches, but others have all the weight"
		} else if bounded {
			why += " that was explored"
		}
		found = append(found, fmt.Sprintf("never played: %s of %s %s", printable.Text(st.Name), printable.Text(st.Kind.Kind), why))
	}
	if ends := g.Terminal(); len(ends) > 0 {
		found = append(found, "ends in: "+g.list(ends))
	}
	for _, c := range g.Cycles() {
		found = append(found, g.describeCycle(c))
	}
	if chances := g.Ambiguous(); len(chances) > 0 {
		found = append(found, "left to chance in: "+g.list(chances))
	}
	if bounded {
		found = append(found, "not all was explored: there are more states than the limit")
	}
	if last, n := g.longestInstantPath(); bounded && n >= livelockLimit {
		found = append(found, fmt.Sprintf("livelock, as far as it was explored: %d changes without time passing, up to: %s", n, g.list([]int{last})))
	}
	return found
}

// hasObject reports whether some State has an object of a kind.
func (g *Graph) hasObject(kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(g.States, func(s State) bool {
		return slices.ContainsFunc(s.Objects, func(o Object) bool { return o.Key.GroupVersionKind() == kind })
	})
}

// livelockLimit is the default of stage.EngineOptions: the number of transitions that an object may
// make while no time passes.
const livelockLimit = 100

// longestInstantPath returns the longest path on which no time passes: the State at its end, and
// its number of transitions.
func (g *Graph) longestInstantPath() (last, n int) {
	length := make([]int, len(g.States))
	for _, t := range g.Transitions {
		if t.To <= t.From || length[t.To] > 0 || t.Action != "" || t.Delay.Max > 0 {
			continue
		}
		if length[t.To] = length[t.From] + 1; length[t.To] > n {
			last, n = t.To, length[t.To]
		}
	}
	return last, n
}

func (g *Graph) describeCycle(c Cycle) string {
	kind := "loop"
	switch {
	case c.Livelock && c.Endless:
		kind = "livelock, for ever and without time passing"
	case c.Livelock:
		kind = "livelock, without time passing until chance ends it"
	case c.Endless:
		kind = "loop that never ends"
	}
	return kind + ": " + g.list(c.States)
}

// list names the first ten of the States.
func (g *Graph) list(ids []int) string {
	var names []string
	for _, id := range ids[:min(10, len(ids))] {
		names = append(names, fmt.Sprintf("%d %s", id, printable.Text(g.States[id].Label)))
	}
	if len(ids) > 10 {
		names = append(names, fmt.Sprintf("and %d more", len(ids)-10))
	}
	return strings.Join(names, "; ")
}
