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
//
// The goroutines of Kubernetes' controller that are due at the same instant run in any order: whether a taint is
// replaced in one pass or with the next one differs from run to run. So theirs may play ten times, until ours is
// one of its outcomes.
func compare(t *testing.T, s scenario) {
	var want, first []string
	for range 10 {
		want = playTheirs(t, s)
		if first = oursLike(t, s, want); first == nil {
			return
		}
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(first, "\n"), "%+v", s)
}

// oursLike returns nil if ours matches for an order of the Nodes that fail, and what the first order gives if not.
func oursLike(t *testing.T, s scenario, want []string) (first []string) {
	for rename := range orders(s.failing()) {
		got := playOurs(t, s, rename)
		if slices.Equal(want, got) {
			return nil
		}
		if first == nil {
			first = got
		}
	}
	return first
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
