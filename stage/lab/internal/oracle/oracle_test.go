package oracle

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Uint64("scenarios", 6, "how many random scenarios are played")
	seed      = flag.Uint64("seed", 1, "the first one")
)

func TestScenarios(t *testing.T) {
	for name, s := range named() {
		t.Run(name, func(t *testing.T) { compare(t, s) })
	}
	for i := range *scenarios {
		t.Run(fmt.Sprint("seed ", *seed+i), func(t *testing.T) { compare(t, random(*seed+i)) })
	}
}

// compare plays a scenario with both. Ours may match for any order of the Nodes that fail.
func compare(t *testing.T, s scenario) {
	want := playTheirs(t, s)
	var first []string
	for rename := range orders(s.failing()) {
		got := playOurs(t, s, rename)
		if slices.Equal(want, got) {
			return
		}
		if first == nil {
			first = got
		}
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(first, "\n"), "%+v", s)
}

// orders yields the renamings of names. The first one changes nothing.
func orders(names []string) func(func(map[string]string) bool) {
	return func(yield func(map[string]string) bool) { permute(names, nil, yield) }
}

func permute(names, chosen []string, yield func(map[string]string) bool) bool {
	if len(chosen) == len(names) {
		rename := map[string]string{}
		for i, name := range names {
			rename[name] = chosen[i]
		}
		return yield(rename)
	}
	for _, name := range names {
		if !slices.Contains(chosen, name) && !permute(names, append(slices.Clone(chosen), name), yield) {
			return false
		}
	}
	return true
}

// TestALargeZone compares when Nodes are tainted, not which.
func TestALargeZone(t *testing.T) {
	times := func(lines []string) (found []string) {
		for _, line := range lines {
			if strings.Contains(line, "not-ready:NoExecute") {
				found = append(found, strings.Fields(line)[0])
			}
		}
		return found
	}
	want := times(playTheirs(t, largeZone()))
	require.Len(t, want, 4)
	require.Equal(t, want, times(playOurs(t, largeZone(), nil)))
}
