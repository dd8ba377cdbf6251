package timing_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func seconds(at time.Time) float64 { return at.Sub(start).Seconds() }

func TestBucketIsFullAtTheStartAndFillsAgain(t *testing.T) {
	b := timing.NewBucket(timing.Limits{QPS: 20, Burst: 30})
	for i := range 30 {
		require.Equal(t, start, b.Take(start), "%d", i)
	}
	require.Equal(t, 0.05, seconds(b.Take(start)))
	require.Equal(t, 0.10, seconds(b.Take(start)), "first come, first served")
	require.Equal(t, 0.15, seconds(b.Take(start.Add(20*time.Millisecond))))
	later := start.Add(time.Hour)
	for range 30 {
		require.Equal(t, later, b.Take(later), "not fuller than its burst")
	}
	require.Equal(t, later.Add(50*time.Millisecond), b.Take(later))
}

func TestBucketWithoutLimit(t *testing.T) {
	for _, l := range []timing.Limits{{}, {QPS: -1, Burst: 3}} {
		b := timing.NewBucket(l)
		for range 100 {
			require.Equal(t, start, b.Take(start))
			require.True(t, b.TryTake(start))
		}
		require.Equal(t, "no limit", l.String())
	}
}

func TestTryTakeTakesNothingThatIsNotThere(t *testing.T) {
	b := timing.NewBucket(timing.Limits{QPS: 1, Burst: 2})
	require.True(t, b.TryTake(start))
	require.True(t, b.TryTake(start))
	require.False(t, b.TryTake(start))
	require.False(t, b.TryTake(start.Add(900*time.Millisecond)))
	require.True(t, b.TryTake(start.Add(time.Second)))
}

// TestTokensComeAtTheRate sends at random times: in no window are there more requests than the burst
// and the rate allow.
func TestTokensComeAtTheRate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b, now := timing.NewBucket(timing.Limits{QPS: 7, Burst: 5}), start
	var sent []float64
	for range 1000 {
		now = now.Add(time.Duration(random.IntN(280)) * time.Millisecond)
		at := b.Take(now)
		require.False(t, at.Before(now))
		sent = append(sent, seconds(at))
	}
	require.True(t, slices.IsSorted(sent))
	for i := range sent {
		for j := i; j < len(sent); j++ {
			require.LessOrEqual(t, float64(j-i+1), 5+7*(sent[j]-sent[i])+1e-6)
		}
	}
}

func TestLatencies(t *testing.T) {
	write := timing.LogNormal{Median: 5 * time.Millisecond, P99: 50 * time.Millisecond}
	c := timing.NewClient(timing.Limits{}, timing.Latency{Create: write, Patch: fixed(0.002)}, 3)
	var all []float64
	for range 20_000 {
		all = append(all, seconds(c.Send(start, timing.Create)))
	}
	slices.Sort(all)
	require.InEpsilon(t, 0.005, all[10_000], 0.03)
	require.InEpsilon(t, 0.050, all[19_800], 0.15)
	require.Equal(t, 0.002, seconds(c.Send(start, timing.Patch)))
	require.Equal(t, 0.0, seconds(c.Send(start, timing.Delete)), "no distribution, no time")
	require.Equal(t, "median 5ms, p99 50ms", write.String())
	require.Equal(t, 0.005, timing.LogNormal{Median: 5 * time.Millisecond}.Quantile(0.99))

	first := func(seed uint64) time.Time {
		return timing.NewClient(timing.Limits{}, timing.Latency{Create: write}, seed).Send(start, timing.Create)
	}
	require.Equal(t, first(1), first(1))
	require.NotEqual(t, first(1), first(2))
}

// play resumes tasks until none sleeps.
func play(s *timing.Tasks) {
	for at, ok := s.Next(); ok; at, ok = s.Next() {
		s.Resume(at)
	}
}

func TestTasksSleepInVirtualTime(t *testing.T) {
	var s timing.Tasks
	var log []string
	sleeper := func(name string, naps ...time.Duration) func() {
		return func() {
			for _, d := range naps {
				require.NoError(t, s.Sleep(s.Now().Add(d)))
				log = append(log, name+" "+s.Now().Sub(start).String())
			}
		}
	}
	s.Start(start, sleeper("a", 3, 3))
	s.Start(start, sleeper("b", 2, 4, 0))
	s.Start(start, func() {
		require.NoError(t, s.Sleep(start.Add(-time.Hour)))
		log = append(log, "c 0s")
	})
	play(&s)
	require.Equal(t, []string{"c 0s", "b 2ns", "a 3ns", "b 6ns", "b 6ns", "a 6ns"}, log)
}

func TestAllIsConcurrent(t *testing.T) {
	var s timing.Tasks
	var ended []int
	s.Start(start, func() {
		s.All(4, func(i int) {
			if i > 0 {
				require.NoError(t, s.Sleep(start.Add(time.Duration(4-i)*time.Second)))
			}
			ended = append(ended, i)
		})
		require.Equal(t, 3.0, seconds(s.Now()))
		s.All(2, func(int) {})
		s.All(0, func(int) { t.Fatal("nothing to do") })
		ended = append(ended, -1)
	})
	play(&s)
	require.Equal(t, []int{0, 3, 2, 1, -1}, ended)
}

func TestStopEndsTasks(t *testing.T) {
	var s timing.Tasks
	var errs []error
	wait := func(int) { errs = append(errs, s.Sleep(start.Add(time.Hour))) }
	s.Start(start, func() { wait(0); wait(0) })
	s.Start(start, func() { s.All(3, wait); wait(0) })
	s.Stop()
	require.Len(t, errs, 6)
	for _, err := range errs {
		require.True(t, errors.Is(err, timing.ErrStopped))
	}
	_, ok := s.Next()
	require.False(t, ok)
	s.Start(start, func() { wait(0) })
	require.Len(t, errs, 7)
}

func TestPanicOfATask(t *testing.T) {
	var s timing.Tasks
	s.Start(start, func() {
		_ = s.Sleep(start.Add(time.Second))
		panic("in the middle")
	})
	require.PanicsWithValue(t, "in the middle", func() { s.Resume(start.Add(time.Second)) })
	s.Stop()
}

func TestViewIsLate(t *testing.T) {
	v := timing.NewView[int](2 * time.Second)
	_, ok := v.Next()
	require.False(t, ok)
	v.Add(1, start)
	v.Add(2, start.Add(time.Second))
	_, ok = v.Take(start.Add(time.Second))
	require.False(t, ok)
	require.Equal(t, 2, v.Behind())
	at, ok := v.Next()
	require.True(t, ok)
	require.Equal(t, 2.0, seconds(at))
	e, ok := v.Take(at)
	require.True(t, ok)
	require.Equal(t, 1, e)
	v.SetDelay(0)
	v.Add(3, start.Add(time.Second))
	_, ok = v.Take(start.Add(2 * time.Second))
	require.False(t, ok, "not before an earlier one")
}

func TestPositionOfAView(t *testing.T) {
	v := timing.NewView[int](time.Second)
	for i := range 4 {
		v.Add(i, start)
	}
	v.Pause()
	_, ok := v.Take(start.Add(time.Hour))
	require.False(t, ok)
	v.Deliver(2)
	for want := range 2 {
		e, ok := v.Take(start)
		require.True(t, ok, "at once")
		require.Equal(t, want, e)
	}
	_, ok = v.Take(start.Add(time.Hour))
	require.False(t, ok, "and no further")
	v.Resume()
	_, ok = v.Take(start)
	require.False(t, ok)
	e, ok := v.Take(start.Add(time.Second))
	require.True(t, ok)
	require.Equal(t, 2, e)
	v.Deliver(100)
	v.Add(4, start.Add(time.Minute))
	e, _ = v.Take(start)
	require.Equal(t, 3, e)
	_, ok = v.Take(start.Add(time.Minute))
	require.False(t, ok, "Deliver is about the events that there were")
}

// fixed is a duration in seconds that is always the same.
type fixed float64

func (f fixed) Quantile(float64) float64 { return float64(f) }
