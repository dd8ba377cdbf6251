package workloads

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Uint64("scenarios", 50, "how many random scenarios are played")
	seed      = flag.Uint64("seed", 1, "the first one")
	kinds     = flag.String("kinds", "ReplicaSet,Deployment", "the kinds that take turns")
)

func TestScenarios(t *testing.T) {
	different := 0
	for i := range *scenarios {
		s := random(*seed+i, strings.Split(*kinds, ","))
		found := differ(t, s)
		if found == "" {
			continue
		}
		if different++; different > 5 {
			t.Fatal("more than five scenarios differ")
		}
		s, found = minimal(t, s, found)
		t.Errorf("seed %d: %s\n%s", *seed+i, s, found)
	}
}

// minimal leaves out what can be left out of a scenario in which the controllers differ.
func minimal(t *testing.T, s scenario, found string) (scenario, string) {
	for _, smaller := range s.shrink() {
		if found := differ(t, smaller); found != "" {
			return minimal(t, smaller, found)
		}
	}
	return s, found
}

// differ plays a scenario with both and returns the first difference, "" if there is none. What
// differs because of the order of goroutines does so in one play of theirs and not in the next.
func differ(t *testing.T, s scenario) (found string) {
	ours := playOurs(t, s)
	for range 3 {
		if found = difference(playTheirs(t, s, ours.hashes).lines, ours.lines); found == "" {
			return ""
		}
	}
	return found
}

// difference describes the first tick at which two histories differ.
func difference(theirs, ours []line) string {
	i := 0
	for i < len(theirs) && i < len(ours) && theirs[i] == ours[i] {
		i++
	}
	if i == len(theirs) && i == len(ours) {
		return ""
	}
	var b strings.Builder
	at := min(atOf(theirs, i), atOf(ours, i))
	fmt.Fprintf(&b, "at %.2f s (- theirs, + ours)\n", at)
	changed := map[string][2]string{}
	var names []string
	for side, lines := range [][]line{theirs, ours} {
		for _, l := range lines[i:] {
			if l.at.Seconds() != at {
				break
			}
			both, known := changed[l.name]
			if !known {
				both = [2]string{before(theirs[:i], l.name), before(ours[:i], l.name)}
				names = append(names, l.name)
			}
			both[side] = l.state
			changed[l.name] = both
		}
	}
	for _, name := range names {
		if states := changed[name]; states[0] != states[1] {
			fmt.Fprintf(&b, "%s\n%s", name, diff(states[0], states[1]))
		}
	}
	return b.String()
}

func before(lines []line, name string) (state string) {
	for _, l := range lines {
		if l.name == name {
			state = l.state
		}
	}
	return state
}

func atOf(lines []line, i int) float64 {
	if i < len(lines) {
		return lines[i].at.Seconds()
	}
	return 1e9
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
	require.Empty(t, difference(playOurs(t, s).lines, playOurs(t, s).lines))
}
