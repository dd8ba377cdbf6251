package stage_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// inPhase returns a copy of obj in another phase and version.
func inPhase(obj *unstructured.Unstructured, phase string, version int) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.Object["status"] = map[string]any{"phase": phase}
	obj.SetResourceVersion(fmt.Sprint(version))
	return obj
}

// recorder collects a trace.
type recorder []string

func (r *recorder) add(e stage.TraceEvent) {
	if e.Kind != stage.TraceObserved {
		*r = append(*r, fmt.Sprintf("+%s %s %s", e.Time.Sub(start), e.Kind, e.Stage))
	}
}

func due(e *stage.Engine, now time.Time) (got []stage.Transition) {
	for t := range e.Due(now) {
		got = append(got, t)
	}
	return got
}

func at(d time.Duration) time.Time { return start.Add(d) }

func TestOftenUpdatedObjectAdvances(t *testing.T) {
	set := compile(t, phased("go", "Pending", "  delay: {durationMilliseconds: 300, jitterDurationMilliseconds: 400}"))
	e := stage.NewEngine(set, stage.EngineOptions{})
	obj := pod(t, "{}", "{phase: Pending}")
	var first time.Time
	for i := range 10 {
		now := at(time.Duration(i) * 200 * time.Millisecond)
		if got := due(e, now); len(got) > 0 {
			require.Equal(t, first, got[0].Due)
			return
		}
		require.NoError(t, e.Observe(inPhase(obj, "Pending", i), now))
		next, ok := e.NextDue()
		require.True(t, ok)
		if i == 0 {
			first = next
		}
		require.Equal(t, first, next, "an update neither redraws nor postpones")
	}
	t.Fatal("the object never advanced")
}

func TestMismatchCancels(t *testing.T) {
	var trace recorder
	set := compile(t, phased("go", "Pending", "  delay: {durationMilliseconds: 300}"), phased("stay", "Running", "  delay: {durationMilliseconds: 1000}"))
	e := stage.NewEngine(set, stage.EngineOptions{Trace: trace.add})
	obj := pod(t, "{}", "{phase: Pending}")
	require.NoError(t, e.Observe(obj, start))
	require.NoError(t, e.Observe(inPhase(obj, "Running", 2), at(100*time.Millisecond)))
	require.NoError(t, e.Observe(inPhase(obj, "Failed", 3), at(200*time.Millisecond)))
	require.Empty(t, due(e, at(time.Hour)))
	require.True(t, e.Forget(stage.KeyOf(obj), at(time.Hour)))
	require.False(t, e.Forget(stage.KeyOf(obj), at(time.Hour)))
	require.Equal(t, recorder{
		"+0s scheduled go", "+100ms cancelled go", "+100ms scheduled stay", "+200ms cancelled stay", "+1h0m0s forgotten ",
	}, trace)
}

func TestDueTimeIsRecomputedFromTheEntry(t *testing.T) {
	set := compile(t, stageYAML("go", "  selector: {}\n  delay: {durationFrom: {expressionFrom: .metadata.annotations.in}}"))
	e := stage.NewEngine(set, stage.EngineOptions{})
	for _, tc := range []struct {
		in   string
		want time.Duration
	}{
		{"10s", 10 * time.Second},
		{"2006-01-02T15:04:35Z", 30 * time.Second},
		{"2s", 2 * time.Second},
		{"2006-01-02T15:00:00Z", 0},
	} {
		require.NoError(t, e.Observe(pod(t, "{in: '"+tc.in+"'}", "{}"), at(time.Second)))
		next, _ := e.NextDue()
		want := at(time.Second + tc.want)
		if tc.want == 30*time.Second {
			want = at(tc.want) // a time means that time, whenever it is read
		}
		require.Equal(t, want, next, tc.in)
	}
}

func TestPlayingEndsTheEntry(t *testing.T) {
	set := compile(t, stageYAML("beat", "  selector: {}\n  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 2000}"))
	e := stage.NewEngine(set, stage.EngineOptions{Seed: 7})
	obj, now := pod(t, "{}", "{}"), start
	seen := map[time.Duration]bool{}
	for n := range uint64(5) {
		require.NoError(t, e.Observe(obj, now))
		next, ok := e.NextDue()
		require.True(t, ok)
		require.Empty(t, due(e, next.Add(-1)))
		got := due(e, next)
		require.Len(t, got, 1)
		require.Equal(t, n, got[0].N)
		want, ok := set.Next(obj, now, 7, n)
		require.True(t, ok)
		require.Equal(t, want, got[0], "the engine draws as Next does")
		seen[next.Sub(now)] = true
		now = next
		_, pending := e.NextDue()
		require.False(t, pending)
	}
	require.Len(t, seen, 5, "each entry draws anew")
}

func TestANewUIDIsANewObject(t *testing.T) {
	set := compile(t, stageYAML("go", "  selector: {}\n  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 2000}"))
	e := stage.NewEngine(set, stage.EngineOptions{})
	obj := pod(t, "{}", "{}")
	require.NoError(t, e.Observe(obj, start))
	first := due(e, at(time.Hour))[0]
	again := obj.DeepCopy()
	again.SetUID("u2")
	require.NoError(t, e.Observe(again, at(time.Hour)))
	second := due(e, at(2*time.Hour))[0]
	require.NotEqual(t, first.Random, second.Random, "an object that is made again draws anew")
	require.Zero(t, second.N)
	require.NotEqual(t, first.UID, second.UID)
}

func TestLivelock(t *testing.T) {
	set := compile(t, phased("tick", "A", ""), phased("tock", "B", ""))
	e := stage.NewEngine(set, stage.EngineOptions{LivelockLimit: 10})
	calm := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: calm, resourceVersion: '1'}, status: {phase: A}}")
	obj, version, played := inPhase(pod(t, "{}", "{}"), "A", 1), 1, 0
	flip := map[string]string{"tick": "B", "tock": "A"}
	var err error
	for err == nil {
		err = e.Observe(obj, start)
		for _, tr := range due(e, start) {
			played++
			version++
			obj = inPhase(obj, flip[tr.Stage], version)
		}
	}
	require.ErrorIs(t, err, stage.ErrLivelock)
	require.Equal(t, 10, played)

	require.NoError(t, e.Observe(obj, at(time.Minute)), "seen again, unchanged")
	require.Empty(t, due(e, at(time.Minute)))
	require.NoError(t, e.Observe(calm, at(time.Minute)), "others go on")
	require.Len(t, due(e, at(time.Minute)), 1)
	require.NoError(t, e.Observe(inPhase(obj, "A", version+1), at(time.Minute)), "changed by somebody else")
	require.Len(t, due(e, at(time.Minute)), 1)
}

func TestDueIncludesWhatBecomesDueMeanwhile(t *testing.T) {
	set := compile(t, phased("one", "A", ""), phased("two", "B", ""))
	e := stage.NewEngine(set, stage.EngineOptions{})
	obj := inPhase(pod(t, "{}", "{}"), "A", 1)
	require.NoError(t, e.Observe(obj, start))
	var order []string
	for tr := range e.Due(start) {
		order = append(order, tr.Stage)
		require.NoError(t, e.Observe(inPhase(obj, "B", 2), start))
		if len(order) == 2 {
			break
		}
	}
	require.Equal(t, []string{"one", "two"}, order)
	require.Equal(t, 1, e.Pending(), "breaking off loses nothing")
}

// TestDrawsFollowTheWeights plays the first entry of many objects: the shares must equal the
// weights, and the delays must be uniform.
func TestDrawsFollowTheWeights(t *testing.T) {
	set := compile(t,
		stageYAML("three", "  selector: {}\n  weight: 3\n  delay: {durationMilliseconds: 0, jitterDurationMilliseconds: 1000}"),
		stageYAML("one", "  selector: {}\n  weight: 1"),
		stageYAML("never", "  selector: {}"))
	const n = 20000
	count := map[string]int{}
	var sum, squares float64
	for i := range n {
		obj := object(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d}}", i))
		tr, ok := set.Next(obj, start, 1, 0)
		require.True(t, ok)
		count[tr.Stage]++
		if tr.Stage == "three" {
			x := tr.Due.Sub(start).Seconds()
			sum, squares = sum+x, squares+x*x
		}
	}
	threes := float64(count["three"])
	require.InDelta(t, 0.75, threes/n, 4*math.Sqrt(0.75*0.25/n))
	require.Zero(t, count["never"])
	mean := sum / threes
	require.InDelta(t, 0.5, mean, 4*math.Sqrt(1.0/12/threes))
	require.InDelta(t, 1.0/12, squares/threes-mean*mean, 0.005)
}
