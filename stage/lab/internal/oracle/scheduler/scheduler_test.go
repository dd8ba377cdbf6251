package scheduler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	scenarios = flag.Int("scenarios", 50, "how many random scenarios are compared")
	first     = flag.Uint64("seed", 1, "the seed of the first one")
)

// TestSameDecisions compares the decisions of both in random scenarios, and checks that the
// scenarios reach all outcomes.
func TestSameDecisions(t *testing.T) {
	reached := map[string]int{}
	for i := range *scenarios {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, newScenario(seed), reached) })
	}
	requireMet(t, reached)
	t.Log(reached)
	for _, what := range []string{"bound", "unschedulable", "preempted"} {
		require.Positive(t, reached[what], what)
	}
}

// TestOnceDiffered: scenarios in which ours decided otherwise once.
func TestOnceDiffered(t *testing.T) {
	for _, seed := range []uint64{
		2568,       // a victim uses a claim of the same name in another namespace
		8898, 9399, // something that may matter to a Pod changes while it has victims deleted
		60317,      // the labels of a nominated Pod change
		60198,      // a Pod makes room on another Node than before
		1363, 7384, // a Pod uses a claim in two volumes
		101510, // others are tried before a victim is gone
	} {
		compare(t, newScenario(seed), map[string]int{})
	}
}

// TestFiveMinutes is the run that first showed the time: a Pod that is rejected at 187 s is tried
// again at 510 s. Our scheduler tries it only if anything has changed, here at 200 s.
func TestFiveMinutes(t *testing.T) {
	g := &generator{Rand: rand.New(rand.NewPCG(0, 0))}
	large, small := g.plainPod("large", "8"), g.plainPod("small", "1")
	n := g.node()
	n.Spec = corev1.NodeSpec{}
	s := scenario{objects: []runtime.Object{n}, length: 600 * time.Second, steps: []step{
		{at: 187 * time.Second, create: large}, {at: 200 * time.Second, create: small},
	}}
	want, got := playTheirs(t, s), playOurs(t, s)
	text, _ := difference(want, got)
	require.Empty(t, text)
	var times []time.Duration
	for _, a := range got.attempts {
		times = append(times, a.at)
	}
	require.Equal(t, []time.Duration{187 * time.Second, 200 * time.Second, 510 * time.Second}, times)
	s.steps, s.length = s.steps[:1], 847*time.Second
	require.Len(t, playTheirs(t, s).attempts, 3, "at 187, 510 and 840 s")
	require.Len(t, playOurs(t, s).attempts, 1)
}

func compare(t *testing.T, s scenario, reached map[string]int) {
	want, got := playTheirs(t, s), playOurs(t, s)
	for _, a := range want.attempts {
		if strings.HasPrefix(a.outcome, "to ") {
			reached["bound"]++
		} else {
			reached["unschedulable"]++
		}
	}
	for what, text := range map[string]string{"preempted": "PreemptionByScheduler", "provisioned": `volume "v-`, "local": `volume "local`, "refused": "provisioning failed"} {
		for _, c := range want.changes {
			if strings.Contains(c.text, text) {
				reached[what]++
			}
		}
	}
	if text := explain(want, got, reached); text != "" {
		if reached["differs"]++; reached["differs"] > 1 {
			t.Fatal(text)
		}
		s = shrink(t, s)
		want, got = playTheirs(t, s), playOurs(t, s)
		t.Fatalf("%s\n%s\n%s", explain(want, got, map[string]int{}), sideBySide(want, got), s)
	}
}

// shrink takes the first scenario that differs. It leaves out steps and objects as long as both
// still differ.
func shrink(t *testing.T, s scenario) scenario {
	for smaller := true; smaller; {
		smaller = false
		for i := range len(s.steps) + len(s.objects) {
			tried := s.without(i)
			if len(tried.steps)+len(tried.objects) == len(s.steps)+len(s.objects) {
				continue
			}
			if explain(playTheirs(t, tried), playOurs(t, tried), map[string]int{}) != "" {
				s, smaller = tried, true
				break
			}
		}
	}
	return s
}

// sideBySide prints both histories.
func sideBySide(want, got *history) string {
	var b strings.Builder
	for name, h := range map[string]*history{"theirs": want, "ours": got} {
		fmt.Fprintln(&b, name)
		for _, a := range h.attempts {
			fmt.Fprintln(&b, " ", a)
		}
		if testing.Verbose() {
			for _, line := range h.finalChanges() {
				fmt.Fprintln(&b, " ", line)
			}
		}
	}
	return b.String()
}

// difference says where two histories differ first, and when; "" if they do not.
func difference(want, got *history) (string, time.Duration) {
	for i := range max(len(want.attempts), len(got.attempts)) {
		if i >= len(want.attempts) {
			return "theirs ends before " + got.attempts[i].String(), got.attempts[i].at.Truncate(instant)
		}
		if i >= len(got.attempts) {
			return "ours ends before " + want.attempts[i].String(), want.attempts[i].at.Truncate(instant)
		}
		a, b := want.attempts[i], got.attempts[i]
		at := min(a.at, b.at).Truncate(instant)
		if a.String() != b.String() {
			return fmt.Sprintf("attempt %d\ntheirs %s\n%v\nours   %s\n%v", i, a, a.scores, b, b.scores), at
		}
		if text := differentScores(a, b); text != "" {
			return text, at
		}
	}
	a, b := want.finalChanges(), got.finalChanges()
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("change %d\ntheirs %v\nours   %v", i, a[min(i, len(a)):min(i+1, len(a))], b[min(i, len(b)):min(i+1, len(b))]), -1
		}
	}
	return "", 0
}

// differentScores says which scores differ. In theirs, a plugin that does not apply scores 0.
func differentScores(want, got attempt) string {
	for plugin, scores := range want.scores {
		for node, score := range scores {
			if got.scores[plugin][node] != score {
				return fmt.Sprintf("%s\nscore of %s on %s\ntheirs %v\nours   %v", want, plugin, node, want.scores, got.scores)
			}
		}
	}
	for plugin := range got.scores {
		if want.scores[plugin] == nil {
			return fmt.Sprintf("%s: %s scores in ours only", want, plugin)
		}
	}
	return ""
}
