package stage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// chiSquare is Pearson's statistic of counts against the expected counts.
func chiSquare(counts []int, shares ...float64) float64 {
	n, sum := 0, 0.0
	for _, c := range counts {
		n += c
	}
	for i, share := range shares {
		want := share * float64(n)
		sum += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
	}
	return sum
}

// limits are what chi-square exceeds once in a thousand times by chance, by degrees of freedom.
var limits = map[int]float64{1: 10.83, 3: 16.27, 9: 27.88}

// requireChance holds counts against their shares.
func requireChance(t *testing.T, what string, counts []int, shares ...float64) {
	t.Helper()
	x := chiSquare(counts, shares...)
	t.Logf("%s: chi-square %.2f, limit %.2f, counts %v", what, x, limits[len(shares)-1], counts)
	require.Less(t, x, limits[len(shares)-1], what)
}

// A life is what became of one incarnation.
type life struct {
	first, second bool // whether the Stages of weight 3, and then of weight 1, were drawn
	delay         time.Duration
}

var coin = stageYAML("up", `
  selector: {matchExpressions: [{key: .status.outcome, operator: DoesNotExist}]}
  weight: 3
  delay: {durationMilliseconds: 0, jitterDurationMilliseconds: 1000}
  next: {statusTemplate: 'outcome: Up'}`) + stageYAML("down", `
  selector: {matchExpressions: [{key: .status.outcome, operator: DoesNotExist}]}
  weight: 1
  next: {statusTemplate: 'outcome: Down'}`) + stageYAML("left", `
  selector: {matchExpressions: [{key: .status.outcome, operator: Exists}, {key: .status.side, operator: DoesNotExist}]}
  next: {statusTemplate: 'side: Left'}`) + stageYAML("right", `
  selector: {matchExpressions: [{key: .status.outcome, operator: Exists}, {key: .status.side, operator: DoesNotExist}]}
  next: {statusTemplate: 'side: Right'}`)

// recreate lets one Pod live, deletes it and makes it again under its name, n times.
func recreate(t *testing.T, n int) []life {
	t.Helper()
	lives := make([]life, 0, n)
	var at life
	sim, err := simulation.New(compile(t, coin), simulation.Options{Seed: 1, Trace: func(e stage.TraceEvent) {
		switch {
		case e.Kind != stage.TraceScheduled:
		case e.Stage == "up":
			at.first, at.delay = true, e.Due.Sub(e.Time)
		case e.Stage == "left":
			at.second = true
		}
	}})
	require.NoError(t, err)
	for range n {
		at = life{}
		create(t, sim.Cluster(), newPod("web", ""))
		require.NoError(t, sim.Advance(t.Context(), time.Second))
		remove(t, sim.Cluster(), "web")
		lives = append(lives, at)
	}
	return lives
}

// TestRecreatedObjectsDrawAnew: outcomes, successors and delays of objects that are made again
// under one name follow the weights, and do not depend on those before.
func TestRecreatedObjectsDrawAnew(t *testing.T) {
	lives := recreate(t, 10_000)
	first, second, delays := make([]int, 2), make([]int, 4), make([]int, 10)
	successive, apart, delayPairs := make([]int, 4), make([]int, 4), make([]int, 4)
	for i, l := range lives {
		first[bit(l.first)]++
		second[2*bit(l.first)+bit(l.second)]++
		if l.first {
			delays[min(9, int(10*l.delay/time.Second))]++
		}
		if i > 0 {
			successive[2*bit(lives[i-1].first)+bit(l.first)]++
		}
		if i >= 100 {
			apart[2*bit(lives[i-100].first)+bit(l.first)]++
		}
		if before := lives[max(i-1, 0)]; i > 0 && l.first && before.first {
			delayPairs[2*bit(before.delay < time.Second/2)+bit(l.delay < time.Second/2)]++
		}
	}
	requireChance(t, "weights 1:3", first, 0.25, 0.75)
	requireChance(t, "Stage and its successor", second, 0.125, 0.125, 0.375, 0.375)
	requireChance(t, "delays in tenths of the range", delays, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
	requireChance(t, "successive outcomes", successive, 1./16, 3./16, 3./16, 9./16)
	requireChance(t, "outcomes 100 incarnations apart", apart, 1./16, 3./16, 3./16, 9./16)
	requireChance(t, "successive delays, below and above the middle", delayPairs, 0.25, 0.25, 0.25, 0.25)
	require.Equal(t, lives[:50], recreate(t, 50), "the same seed repeats it")
}

// remove deletes a Pod at once.
func remove(t *testing.T, c *memory.Cluster, name string) {
	t.Helper()
	zero := int64(0)
	require.NoError(t, c.Delete(t.Context(), podKind, types.NamespacedName{Namespace: "default", Name: name}, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRestartDrawsAnew observes one object by new Engines, like a player that is restarted
// repeatedly, and by one Engine that forgets it.
func TestRestartDrawsAnew(t *testing.T) {
	set := compile(t, coin)
	obj := newPod("web", "")
	obj.SetUID("u1")
	obj.SetCreationTimestamp(metav1.NewTime(start))
	restarted, forgotten := make([]int, 4), make([]int, 4)
	forgetful := stage.NewEngine(set, stage.EngineOptions{})
	last := [2]int{}
	for i := range 10_000 {
		now := start.Add(time.Duration(i) * time.Second)
		for j, e := range []*stage.Engine{stage.NewEngine(set, stage.EngineOptions{Seed: 7}), forgetful} {
			require.NoError(t, e.Observe(obj, now))
			got := bit(due(e, now.Add(time.Second))[0].Stage == "up")
			[][]int{restarted, forgotten}[j][2*last[j]+got]++
			last[j] = got
			e.Forget(stage.KeyOf(obj), now)
		}
	}
	requireChance(t, "successive restarts", restarted, 1./16, 3./16, 3./16, 9./16)
	requireChance(t, "observed again after Forget", forgotten, 1./16, 3./16, 3./16, 9./16)
}

// TestRestartRepeatsNoSequence: Stages play on an object without end. After a restart of the
// program the object does not repeat its earlier draws.
func TestRestartRepeatsNoSequence(t *testing.T) {
	set := compile(t, stageYAML("beat", "  selector: {}\n  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 2000}"))
	obj := newPod("web", "")
	obj.SetCreationTimestamp(metav1.NewTime(start))
	draws := func(from time.Duration) (numbers []uint64) {
		e, now := stage.NewEngine(set, stage.EngineOptions{}), at(from)
		for range 20 {
			require.NoError(t, e.Observe(obj, now))
			now, _ = e.NextDue()
			numbers = append(numbers, due(e, now)[0].Random)
		}
		return numbers
	}
	before := draws(0)
	for _, after := range [][]uint64{draws(time.Second), draws(time.Minute)} {
		for _, n := range after {
			require.NotContains(t, before, n)
		}
	}
	require.Equal(t, before, draws(999*time.Millisecond), "within the same second of its age")
}

// TestUIDsFollowFromSeedNameAndIncarnation: a cluster with the same seed gives the same uids, so
// that a simulation repeats.
func TestUIDsFollowFromSeedNameAndIncarnation(t *testing.T) {
	uids := func(seed uint64, names ...string) (got []types.UID) {
		c := memory.New(memory.Options{Seed: seed})
		for _, name := range names {
			got = append(got, create(t, c, newPod(name, "")).GetUID())
			remove(t, c, name)
		}
		return got
	}
	got := uids(1, "a", "b", "a")
	require.Equal(t, []types.UID{got[1], got[0], got[2]}, uids(1, "b", "a", "a"), "whatever happens to others")
	require.NotEqual(t, got[0], got[2])
	require.NotEqual(t, got[0], uids(2, "a")[0])
}
