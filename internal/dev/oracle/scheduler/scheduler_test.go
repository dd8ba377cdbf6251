package scheduler

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Int("scenarios", 50, "how many random scenarios are compared")
	first     = flag.Uint64("seed", 1, "the seed of the first one")
)

// TestSameDecisions compares decisions on random clusters, and holds that the scenarios reach what
// they are for.
func TestSameDecisions(t *testing.T) {
	reached := map[string]int{}
	for i := range *scenarios {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, newScenario(seed), reached) })
	}
	t.Log(reached)
	for _, what := range []string{"bound", "unschedulable", "preempted"} {
		require.Positive(t, reached[what], what)
	}
}

func compare(t *testing.T, s scenario, reached map[string]int) {
	ours, theirs := newOurs(t), newTheirs(t)
	for _, obj := range s.objects {
		ours.create(obj.DeepCopyObject())
		ours.advance()
		theirs.create(obj)
	}
	for _, p := range s.pods {
		want, got := theirs.schedule(p.DeepCopy()), ours.schedule(p.DeepCopy())
		switch {
		case want.node != "":
			reached["bound"]++
		case want.nominated != "":
			reached["preempted"]++
		default:
			reached["unschedulable"]++
		}
		require.Equal(t, want.node, got.node, "%s: the Node; scores of theirs %v, of ours %v", p.Name, want.scores, got.scores)
		require.Equal(t, want.message, got.message, "%s: the message", p.Name)
		require.Equal(t, want.nominated, got.nominated, "%s: the nominated Node", p.Name)
		require.Equal(t, want.victims, got.victims, "%s: the victims", p.Name)
		requireSameScores(t, want, got)
	}
}

// requireSameScores holds that plugins score alike. ImageLocality says nothing here where all its
// scores are 0.
func requireSameScores(t *testing.T, want, got decision) {
	for plugin, scores := range want.scores {
		for node, score := range scores {
			require.Equal(t, score, got.scores[plugin][node], "the score of %s on %s; theirs %v, ours %v", plugin, node, want.scores, got.scores)
		}
	}
	for plugin := range got.scores {
		require.Contains(t, want.scores, plugin)
	}
}
