package workloads

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Uint64("scenarios", 50, "how many random scenarios are played")
	seed      = flag.Uint64("seed", 1, "the first one")
	verbose   = flag.Bool("undecided", false, "say in which scenarios Kubernetes leaves things to chance")
	plays     = flag.Int("plays", 40, "how often theirs plays what it leaves to chance")
	kinds     = flag.String("kinds", "ReplicaSet,Deployment,StatefulSet,DaemonSet,Job,CronJob", "the kinds that take turns")
)

func TestScenarios(t *testing.T) {
	different, chance := 0, 0
	for i := range *scenarios {
		s := random(*seed+i, strings.Split(*kinds, ","))
		before := undecided
		found := differ(t, s)
		chance += undecided - before
		if found == "" {
			continue
		}
		if different++; different > 5 {
			t.Fatal("more than five scenarios differ")
		}
		s, found = minimal(t, s, found)
		t.Errorf("seed %d: %s\n%s", *seed+i, s, found)
	}
	t.Logf("%d scenarios, %d differ, %d undecided", *scenarios, different, chance)
}

// minimal shrinks a scenario in which the controllers differ as far as possible.
func minimal(t *testing.T, s scenario, found string) (scenario, string) {
	for _, smaller := range s.shrink() {
		if found := differ(t, smaller); found != "" {
			return minimal(t, smaller, found)
		}
	}
	return s, found
}

// differ plays a scenario with both and returns the first difference, or "". Another play of
// Kubernetes can differ where the order of goroutines or of maps decides: there Kubernetes leaves
// the result to chance. Our play then has to equal one of these plays. If it equals one of them
// only until these plays differ, the scenario is undecided.
func differ(t *testing.T, s scenario) string {
	ours := playOurs(t, s)
	var first *history
	var chance, found deviation
	for i := 0; i < 12 || chance.text != "" && i < *plays; i++ {
		theirs := playTheirs(t, s, ours.hashes)
		d := difference(theirs, ours, s.length())
		if d.text == "" {
			return ""
		}
		if found.text == "" || d.at > found.at {
			found = d
		}
		if first == nil {
			first = theirs
		} else if d := difference(first, theirs, s.length()); d.text != "" && (chance.text == "" || d.at < chance.at) {
			chance = d
		}
	}
	if chance.text == "" || found.at < chance.at {
		return found.String()
	}
	undecided++
	if *verbose {
		t.Logf("undecided: %s\ntwo of theirs %s\ntheirs and ours %s", s, chance, found)
	}
	return ""
}

var undecided int

// A deviation is how two histories differ, and when, "" if they do not.
type deviation struct {
	at   time.Duration
	text string
}

func (d deviation) String() string {
	return fmt.Sprintf("at %.2f s (- theirs, + ours)\n%s", d.at.Seconds(), d.text)
}

// difference describes the first tick at which two histories differ, among the ticks that count in
// both.
func difference(theirs, ours *history, until time.Duration) (d deviation) {
	states := [2]map[string]string{{}, {}}
	rest := [2][]line{theirs.lines, ours.lines}
	touched := map[string]bool{}
	for len(rest[0])+len(rest[1]) > 0 {
		at := min(first(rest[0]), first(rest[1]))
		for side := range rest {
			for len(rest[side]) > 0 && rest[side][0].at == at {
				l := rest[side][0]
				states[side][l.name], touched[l.name] = l.state, true
				rest[side] = rest[side][1:]
			}
		}
		if at > until {
			return d
		}
		if theirs.unsettled[at] || ours.unsettled[at] {
			continue
		}
		if d = (deviation{at, compare(states, touched)}); d.text != "" {
			return d
		}
		clear(touched)
	}
	return deviation{}
}

func first(lines []line) time.Duration {
	if len(lines) == 0 {
		return math.MaxInt64
	}
	return lines[0].at
}

// compare describes in which of the named states two sides differ.
func compare(states [2]map[string]string, names map[string]bool) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if theirs, ours := states[0][name], states[1][name]; theirs != ours {
			fmt.Fprintf(&b, "%s\n%s", name, diff(theirs, ours))
		}
	}
	return b.String()
}

// diff returns the lines of texts that only one of them has.
func diff(theirs, ours string) string {
	var b strings.Builder
	only := func(sign, text, other string) {
		lines := map[string]int{}
		for _, l := range strings.Split(other, "\n") {
			lines[l]++
		}
		for _, l := range strings.Split(text, "\n") {
			if lines[l]--; lines[l] < 0 && l != "" {
				fmt.Fprintf(&b, "  %s %s\n", sign, l)
			}
		}
	}
	only("-", theirs, ours)
	only("+", ours, theirs)
	return b.String()
}

// TestOursRepeats plays a scenario twice.
func TestOursRepeats(t *testing.T) {
	s := random(3, []string{"Deployment"})
	require.Empty(t, difference(playOurs(t, s), playOurs(t, s), s.length()).text)
}
