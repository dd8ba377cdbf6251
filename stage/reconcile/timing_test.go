package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// second is a Timing where each request takes a second, and watches half of one.
func second(c reconcile.ControllerTiming) *reconcile.Timing {
	d := fixed(1)
	return &reconcile.Timing{Latency: timing.Latency{Create: d, Patch: d, Delete: d}, WatchDelay: 500 * time.Millisecond, Others: c}
}

// A world is a loop on a cluster, whose events it observes when they happen.
type world struct {
	t       *testing.T
	cluster *memory.Cluster
	loop    *reconcile.Loop
	feeds   []*memory.Feed
	now     time.Time
}

func newWorld(t *testing.T, o reconcile.Options, c ...reconcile.Controller) *world {
	w := &world{t: t, now: start}
	w.cluster = memory.New(memory.Options{Now: func() time.Time { return w.now }})
	w.loop = reconcile.NewLoop(w.cluster, o, c...)
	t.Cleanup(w.loop.Stop)
	for _, kind := range w.loop.Kinds() {
		f, err := w.cluster.Feed(kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		w.feeds = append(w.feeds, f)
	}
	return w
}

func (w *world) observe() {
	for _, f := range w.feeds {
		for e, ok := f.Next(); ok; e, ok = f.Next() {
			w.loop.Observe(e, w.now)
		}
	}
}

// run lets time pass until a time after the start.
func (w *world) run(until time.Duration) {
	w.observe()
	end := start.Add(until)
	for at, ok := w.loop.NextDue(); ok && !at.After(end); at, ok = w.loop.NextDue() {
		if at.After(w.now) {
			w.now = at
		}
		require.True(w.t, w.loop.Step(w.t.Context(), w.now))
		w.observe()
	}
	w.now = end
}

func (w *world) create(name string) *unstructured.Unstructured {
	obj := named(configMaps, "x", name, "")
	obj.SetUID("")
	created, err := w.cluster.Create(w.t.Context(), obj, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return created
}

func (w *world) label(name, value string) {
	_, err := w.cluster.Patch(w.t.Context(), configMaps, types.NamespacedName{Namespace: "x", Name: name}, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{"l":%q}}}`, value), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

func (w *world) at() string { return w.now.Sub(start).String() }

// twoPods creates two Pods for each ConfigMap that has none, one after another.
func twoPods(log func(string)) reconcile.Controller {
	return reconcile.Controller{
		Name: "two", For: configMaps, Watches: []reconcile.Watch{{Kind: pods}},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			c := r.Cache.Get(configMaps, r.Name)
			log("begin " + r.Name.Name)
			for n := len(r.Cache.Owned(pods, c.GetUID())); n < 2; n++ {
				pod := owned(named(pods, "x", fmt.Sprintf("%s-%d", r.Name.Name, n), ""), c)
				pod.SetUID("")
				if _, err := r.Client.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					return reconcile.Result{}, err
				}
				log(fmt.Sprintf("%s has %d", r.Name.Name, len(r.Cache.Owned(pods, c.GetUID()))))
			}
			return reconcile.Result{}, nil
		},
	}
}

// TestWorkersTakeTurns: two workers, three keys, a second for a request.
func TestWorkersTakeTurns(t *testing.T) {
	var lines []string
	var w *world
	w = newWorld(t, reconcile.Options{Timing: second(reconcile.ControllerTiming{Workers: 2})}, twoPods(func(s string) { lines = append(lines, w.at()+" "+s) }))
	for _, name := range []string{"a", "b", "c"} {
		w.create(name)
	}
	w.run(time.Minute)
	require.Equal(t, []string{
		"500ms begin a", "500ms begin b",
		"1.5s a has 1", "1.5s b has 1",
		"2.5s a has 2", "2.5s b has 2", "2.5s begin c",
		"2.5s begin a", // its own creations had put it into the queue
	}, lines[:8], "%v", lines)
	require.Contains(t, lines, "4.5s c has 2")
}

// TestAKeyIsHeldByOneWorker: what happens to it meanwhile is looked at once, afterwards.
func TestAKeyIsHeldByOneWorker(t *testing.T) {
	var lines []string
	var w *world
	w = newWorld(t, reconcile.Options{Timing: second(reconcile.ControllerTiming{Workers: 5})}, twoPods(func(s string) { lines = append(lines, w.at()+" "+s) }))
	w.create("a")
	w.run(time.Second)
	w.label("a", "1")
	w.label("a", "2")
	w.run(time.Minute)
	require.Equal(t, []string{"500ms begin a", "1.5s a has 1", "2.5s a has 2", "2.5s begin a"}, lines)
}

// TestStaleWrites: a controller that does not remember what it did, and does not see it, does it
// twice.
func TestStaleWrites(t *testing.T) {
	for stale, want := range map[bool]int{false: 2, true: 4} {
		o := second(reconcile.ControllerTiming{Workers: 1})
		o.StaleWrites, o.WatchDelay = stale, 3*time.Second
		w := newWorld(t, reconcile.Options{Timing: o}, reconcile.Controller{
			Name: "two", For: configMaps, Watches: []reconcile.Watch{{Kind: pods}},
			Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				c := r.Cache.Get(configMaps, r.Name)
				return reconcile.Result{}, r.Each(2-len(r.Cache.Owned(pods, c.GetUID())), func(int) error {
					pod := owned(named(pods, "x", "", ""), c)
					pod.SetUID("")
					pod.SetGenerateName("p-")
					_, err := r.Client.Create(ctx, pod, metav1.CreateOptions{})
					return err
				})
			},
		})
		w.create("a")
		w.run(3500 * time.Millisecond)
		w.label("a", "1") // seen at 6.5 s, Pods at 7 s
		w.run(time.Minute)
		list, err := w.cluster.List(t.Context(), pods, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, want, "stale %v", stale)
	}
}

func TestEachIsConcurrentWhereRequestsTakeTime(t *testing.T) {
	oops := errors.New("oops")
	for _, timed := range []*reconcile.Timing{nil, second(reconcile.ControllerTiming{})} {
		var calls []int
		var got error
		var w *world
		w = newWorld(t, reconcile.Options{Timing: timed}, reconcile.Controller{For: configMaps,
			Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				got = r.Each(3, func(i int) error {
					calls = append(calls, i)
					_, err := r.Client.Create(ctx, named(pods, "x", fmt.Sprint("p", i), ""), metav1.CreateOptions{})
					require.NoError(t, err)
					if i > 0 {
						return fmt.Errorf("%w %d", oops, i)
					}
					return nil
				})
				return reconcile.Result{}, nil
			},
		})
		w.create("a")
		w.run(time.Minute)
		require.EqualError(t, got, "oops 1")
		if timed == nil {
			require.Equal(t, []int{0, 1}, calls, "until one fails")
		} else {
			require.Equal(t, []int{0, 1, 2}, calls)
		}
	}
	require.NoError(t, reconcile.Request{}.Each(2, func(int) error { return nil }), "without a loop")
}

func TestAtOnceTakesNoTime(t *testing.T) {
	var at []string
	var w *world
	w = newWorld(t, reconcile.Options{Timing: second(reconcile.ControllerTiming{})}, reconcile.Controller{For: configMaps,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			for i, client := range []transport.Writer{r.Client, r.AtOnce().Client} {
				_, err := client.Create(ctx, named(pods, "x", fmt.Sprint("p", i), ""), metav1.CreateOptions{})
				require.NoError(t, err)
				at = append(at, w.at())
			}
			return reconcile.Result{}, nil
		},
	})
	w.create("a")
	w.run(time.Minute)
	require.Equal(t, []string{"1.5s", "1.5s"}, at)
	require.Nil(t, reconcile.Request{}.AtOnce().Client)
}

// TestThePositionOfAView also tests views without a Timing.
func TestThePositionOfAView(t *testing.T) {
	for _, timed := range []*reconcile.Timing{nil, {}} {
		var c recorder
		w := newWorld(t, reconcile.Options{Timing: timed}, reconcile.Controller{For: configMaps, Reconcile: c.reconcile})
		require.Nil(t, w.loop.View(pods))
		v := w.loop.View(configMaps)
		w.create("a")
		w.run(0)
		require.Equal(t, []string{"a +0s"}, c.lines)
		v.Pause()
		w.create("b")
		w.label("a", "1")
		w.label("b", "1")
		w.run(time.Hour)
		require.Equal(t, 3, v.Behind())
		require.Len(t, c.lines, 1)
		require.Nil(t, w.loop.Cache().Get(configMaps, types.NamespacedName{Namespace: "x", Name: "b"}))
		v.Deliver(1)
		w.run(time.Hour)
		require.Equal(t, []string{"a +0s", "b +1h0m0s"}, c.lines)
		v.Resume()
		w.run(2 * time.Hour)
		require.Equal(t, []string{"a +0s", "b +1h0m0s", "a +1h0m0s", "b +1h0m0s"}, c.lines)
	}
}

// TestGatherLooksAtChangesInOneGo: at new objects and generations at once.
func TestGatherLooksAtChangesInOneGo(t *testing.T) {
	var c recorder
	w := newWorld(t, reconcile.Options{Timing: &reconcile.Timing{Controllers: map[string]reconcile.ControllerTiming{"c": {Gather: time.Second}}}},
		reconcile.Controller{Name: "c", For: configMaps, Reconcile: c.reconcile})
	w.create("a")
	w.run(10 * time.Second)
	w.label("a", "1")
	w.run(10*time.Second + 500*time.Millisecond)
	w.label("a", "2")
	w.run(time.Minute)
	require.Equal(t, []string{"a +0s", "a +11s"}, c.lines)
}

// TestWhatIsDueLaterKeepsItsTime: what is looked at once before does not take its place.
func TestWhatIsDueLaterKeepsItsTime(t *testing.T) {
	var c recorder
	w := newWorld(t, reconcile.Options{Timing: &reconcile.Timing{Controllers: map[string]reconcile.ControllerTiming{"c": {Gather: time.Second}}}},
		reconcile.Controller{Name: "c", For: configMaps, Reconcile: c.reconcile})
	w.create("a")
	w.run(10 * time.Second)
	w.label("a", "1")
	w.run(10*time.Second + 500*time.Millisecond)
	require.NoError(t, w.cluster.Delete(t.Context(), configMaps, types.NamespacedName{Namespace: "x", Name: "a"}, metav1.DeleteOptions{}))
	w.observe()
	w.run(time.Minute)
	require.Equal(t, []string{"a +0s", "a +10.5s", "a +11s"}, c.lines)
}

// TestErrorsWhileTimePasses: the pause begins when the reconcile ends.
func TestErrorsWhileTimePasses(t *testing.T) {
	var at []string
	var w *world
	w = newWorld(t, reconcile.Options{RetryAfter: time.Second, Timing: second(reconcile.ControllerTiming{})}, reconcile.Controller{For: configMaps,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			at = append(at, w.at())
			return reconcile.Result{}, r.Client.Delete(ctx, pods, types.NamespacedName{Name: "none"}, metav1.DeleteOptions{})
		},
	})
	w.create("a")
	w.run(6 * time.Second)
	require.Equal(t, []string{"500ms", "2.5s", "5.5s"}, at)
}

// TestStopLeavesNoGoroutine: a bubble would find it.
func TestStopLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		o := reconcile.Options{Timing: second(reconcile.ControllerTiming{Workers: 9}), Events: true}
		o.Trace = func(e reconcile.TraceEvent) { errs = append(errs, e.Err) }
		w := newWorld(t, o, twoPods(func(string) {}))
		for i := range 9 {
			w.create(fmt.Sprint(i))
		}
		w.run(time.Second)
		w.loop.Stop()
		require.Empty(t, errs, "what is stopped is not traced")
	})
}

// TestPlayTakesTime: in real time, 30 at once and then 20 a second.
func TestPlayTakesTime(t *testing.T) {
	limits := &reconcile.Timing{Others: reconcile.ControllerTiming{Limits: timing.Limits{QPS: 20, Burst: 30}, Workers: 5}}
	playing(t, itself, reconcile.PlayOptions{Options: reconcile.Options{Timing: limits}}, func(t *testing.T, cluster *memory.Cluster) {
		for i := range 50 {
			_, err := cluster.Create(t.Context(), named(configMaps, "x", fmt.Sprint(i), ""), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Equal(t, 30, podCount(t, cluster))
		time.Sleep(501 * time.Millisecond)
		require.Equal(t, 40, podCount(t, cluster))
		time.Sleep(350 * time.Millisecond)
		require.Equal(t, 47, podCount(t, cluster))
	})
}

// fixed is a duration in seconds that is always the same.
type fixed float64

func (f fixed) Quantile(float64) float64 { return float64(f) }
