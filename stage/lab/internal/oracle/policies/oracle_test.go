package policies

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Uint64("scenarios", 10, "how many random scenarios of each family are played")
	seed      = flag.Uint64("seed", 1, "the first one")
)

func TestScenarios(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			different, before := 0, chance
			for i := range *scenarios {
				s := f.scenario(*seed + i)
				if differ(t, s) == "" {
					continue
				}
				if different++; different > 3 {
					t.Fatal("more than three scenarios differ")
				}
				s = minimal(t, s)
				t.Errorf("seed %d: (- theirs, + ours)\n%s\n%s", *seed+i, s, differ(t, s))
			}
			t.Logf("%d scenarios, %d differ, %d as another play of theirs", *scenarios, different, chance-before)
		})
	}
}

// minimal shrinks a scenario in which the controllers differ as far as possible.
func minimal(t *testing.T, s scenario) scenario {
	for i := len(s.steps) - 1; i >= 0; i-- {
		smaller := s
		smaller.steps = slices.Delete(slices.Clone(s.steps), i, i+1)
		if differ(t, smaller) != "" {
			return minimal(t, smaller)
		}
	}
	return s
}

// chance counts the scenarios in which our play equals another play of Kubernetes.
var chance int

// differ plays a scenario with both and returns the first difference, or "". If an object changes
// twice at one instant, goroutines decide how often theirs looks at it. Another play can differ
// there.
func differ(t *testing.T, s scenario) string {
	ours := playOurs(t, s)
	found := difference(playTheirs(t, s), ours)
	for i := 0; i < 8 && found != ""; i++ {
		if difference(playTheirs(t, s), ours) == "" {
			chance++
			return ""
		}
	}
	return found
}

func difference(theirs, ours []string) string {
	for i := range max(len(theirs), len(ours)) {
		if i >= len(theirs) || i >= len(ours) || theirs[i] != ours[i] {
			var b strings.Builder
			for sign, lines := range map[string][]string{"-": theirs, "+": ours} {
				for _, line := range lines[min(i, len(lines)):min(i+3, len(lines))] {
					fmt.Fprintf(&b, "%s %s\n", sign, line)
				}
			}
			return b.String()
		}
	}
	return ""
}

// TestOursRepeats plays a scenario of each family twice, and has something happen in it.
func TestOursRepeats(t *testing.T) {
	for _, f := range families() {
		lines := playOurs(t, f.scenario(2))
		require.Equal(t, lines, playOurs(t, f.scenario(2)), f.name)
		require.Greater(t, len(lines), 10, f.name)
	}
}
