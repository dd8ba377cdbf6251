package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A knownDifference is an intended difference, or one without meaning.
type knownDifference struct {
	why string
	// seed is the seed of a scenario that shows the difference, as draw makes it; 0 if only many
	// scenarios certainly show it.
	seed uint64
	draw func(seed uint64) scenario
	// without returns both histories without it.
	without func(want, got *history) (*history, *history)
}

var knownDifferences = []knownDifference{
	{"theirs tries a Pod each 5 minutes, and each 10 seconds while there is no Node, ours only if anything has changed since", 13, newScenario, inBoth(withoutVainAttempts)},
	{"theirs tries a Pod once for each victim of another Pod that vanishes, ours once for all", 0, nil, inBoth(withoutRepeats)},
	{"theirs counts the Nodes with an image when another Node is changed, not when their number changes: not compared further", 59, newScenario, untilImageCountsAreOld},
	{"theirs tries Pods again when it sees that a Pod is gone whose claims it had bound, ours when that goes", 199, newBindingScenario, withoutLateEnds},
	{"several victims vanish one after another in theirs, at one time in ours: not compared further", 0, nil, untilVictimsVanish},
}

func inBoth(without func(*history) *history) func(want, got *history) (*history, *history) {
	return func(want, got *history) (*history, *history) { return without(want), without(got) }
}

// withoutLateEnds leaves out failed attempts of kube-scheduler in the second after a Pod vanishes
// that waits on its Node for its claims.
func withoutLateEnds(want, got *history) (*history, *history) {
	states, ends := map[string]string{}, []time.Duration{}
	for _, c := range want.changes {
		pod, state, _ := strings.Cut(c.text, " ")
		if state == "gone" && strings.Contains(states[pod], `on "" nominated "n`) {
			ends = append(ends, c.at)
		}
		states[pod] = state
	}
	last := map[string]string{}
	return want.filtered(func(_ int, a attempt) bool {
		late := slices.ContainsFunc(ends, func(end time.Duration) bool { return a.at.Truncate(instant) == end+instant })
		vain := late && last[a.pod] == a.outcome
		last[a.pod] = a.outcome
		return !vain
	}), got
}

// untilVictimsVanish cuts histories off before several Pods vanish for the first time.
func untilVictimsVanish(want, got *history) (*history, *history) {
	gone := map[time.Duration]int{}
	for _, c := range want.changes {
		if strings.HasSuffix(c.text, " gone") {
			gone[c.at]++
		}
		if gone[c.at] > 1 {
			return want.before(c.at), got.before(c.at)
		}
	}
	return want, got
}

func (h *history) before(at time.Duration) *history {
	f := h.filtered(func(_ int, a attempt) bool { return a.at < at })
	f.changes = slices.DeleteFunc(slices.Clone(h.changes), func(c change) bool { return c.at >= at })
	return f
}

// untilImageCountsAreOld cuts histories off where the scores of ImageLocality differ.
func untilImageCountsAreOld(want, got *history) (*history, *history) {
	const plugin = "ImageLocality"
	for i, a := range want.attempts[:min(len(want.attempts), len(got.attempts))] {
		for node, score := range a.scores[plugin] {
			if got.attempts[i].scores[plugin][node] != score {
				at := a.at.Truncate(instant)
				return want.before(at), got.before(at)
			}
		}
	}
	return want, got
}

// filtered returns a history with the attempts for which keep returns true.
func (h *history) filtered(keep func(i int, a attempt) bool) *history {
	f := &history{changes: h.changes}
	for i, a := range h.attempts {
		if keep(i, a) {
			f.attempts = append(f.attempts, a)
		}
	}
	return f
}

// withoutRepeats leaves out attempts that end like one of the same Pod at the same time.
func withoutRepeats(h *history) *history {
	seen := map[string]bool{}
	return h.filtered(func(_ int, a attempt) bool {
		before := seen[a.String()]
		seen[a.String()] = true
		return !before
	})
}

// withoutVainAttempts leaves out attempts at whole and half minutes that end like the attempt
// before, and attempts that find no Node again.
func withoutVainAttempts(h *history) *history {
	last := map[string]string{}
	return h.filtered(func(_ int, a attempt) bool {
		timed := a.at%(30*time.Second) < instant/2 || strings.HasPrefix(a.outcome, "no nodes")
		vain := timed && last[a.pod] == a.outcome
		last[a.pod] = a.outcome
		return !vain
	})
}

// requireMet checks that all rows of the table are met.
func requireMet(t *testing.T, met map[string]int) {
	for _, d := range knownDifferences {
		if d.seed != 0 {
			compare(t, d.draw(d.seed), met)
		}
		if d.seed != 0 || *scenarios >= 10_000 {
			require.Positive(t, met[d.why], d.why)
		}
	}
}

// explain says where two histories first differ, except for known differences. It counts the known
// differences that it meets.
func explain(want, got *history, met map[string]int) string {
	text, _ := difference(want, got)
	for _, d := range knownDifferences {
		if text == "" {
			return ""
		}
		want, got = d.without(want, got)
		next, _ := difference(want, got)
		if next != text {
			met[d.why]++
		}
		text = next
	}
	return text
}
