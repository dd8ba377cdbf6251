package kueue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// Options are what a run depends on in addition to its Config. [Defaults] returns the options of
// the study.
type Options struct {
	Seed uint64
	// Workloads are the limits of Kueue's client of kind Workload.
	Workloads timing.Limits
	// Write is how long the API server takes for a request.
	Write timing.Distribution
	// WatchDelay is how late watches are.
	WatchDelay time.Duration
	// Batch is how long Kueue gathers changes in a cohort before it tries parked Workloads again.
	Batch time.Duration
	// Alike makes a Workload that does not fit park all Workloads that are scheduled alike, not
	// only itself (SchedulingEquivalenceHashing, on by default since Kueue 0.18).
	Alike bool
	// Head is the time that a cycle of the scheduler takes for each Workload in it.
	Head time.Duration
}

// Defaults returns the options of the study. The limits and the batch come from Kueue's source, the
// latencies from simulation.ClusterLike. Head is fitted to baseline, out of 0.1, 0.2, 0.5, 1, 1.5,
// 2 and 3 ms. The best one has the nearest wall time, use and three times to admission. The measure
// is the sum of the absolute logarithms of their ratios, with means of 20 seeds (0.19, 0.30, 0.19,
// 0.16, 0.21, 0.21, 0.30).
func Defaults() Options {
	return Options{
		Workloads:  timing.Limits{QPS: 50, Burst: 100},
		Write:      timing.LogNormal{Median: 5 * time.Millisecond, P99: 50 * time.Millisecond},
		WatchDelay: 2 * time.Millisecond,
		Batch:      time.Second,
		Alike:      true,
		Head:       time.Millisecond,
	}
}

// A Result is the report of the runner.
type Result struct {
	Workloads int
	Wall      time.Duration
	// Use is the share of the quota that was used over time, in per cent.
	Use float64
	// Admission is the mean time from the creation of a Workload until the runner saw its
	// admission, by class. For an evicted Workload the last admission counts.
	Admission map[string]time.Duration
	// Writes is the number of requests of kind Workload of Kueue, Evictions how many it evicted.
	Writes, Evictions, Cycles int
}

// A run is one simulation.
type run struct {
	*simulation.Simulation
	Options
	client, runner *timing.Client
	cohorts        []*cohort
	queues         []*queue
	start, last    time.Time
	awake          bool
	pause          time.Duration // of the scheduler after a cycle without admissions
	left           int
	admission      map[string]time.Duration
	counts         map[string]int
	Result
}

// Run simulates until all Workloads have finished.
func Run(ctx context.Context, c Config, o Options) (Result, error) {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Seed: o.Seed})
	if err != nil {
		return Result{}, err
	}
	latency := timing.Latency{Create: o.Write, Patch: o.Write, Delete: o.Write}
	r := &run{
		Simulation: sim, Options: o, start: sim.Now(), admission: map[string]time.Duration{}, counts: map[string]int{},
		client: timing.NewClient(o.Workloads, latency, o.Seed), runner: timing.NewClient(timing.Limits{QPS: 1000, Burst: 2000}, latency, o.Seed+1),
	}
	r.create(c)
	if _, err := sim.Settle(ctx, math.MaxInt64); err != nil {
		return Result{}, err
	}
	if r.left > 0 {
		return Result{}, fmt.Errorf("kueue: %d of %d workloads have not finished", r.left, r.Result.Workloads)
	}
	return r.result(), nil
}

// create makes the queues and makes the runner create their Workloads.
func (r *run) create(c Config) {
	for _, cs := range c.Cohorts {
		for range cs.Count {
			co := &cohort{}
			r.cohorts = append(r.cohorts, co)
			for _, qs := range cs.QueuesSets {
				for range qs.Count {
					r.createQueue(co, qs)
				}
			}
		}
	}
}

func (r *run) createQueue(co *cohort, s QueueSet) {
	q := &queue{cohort: co, nominal: s.NominalQuota.MilliValue(), usedSince: r.start}
	q.limit = q.nominal + s.BorrowingLimit.MilliValue()
	co.total += q.nominal
	co.queues, r.queues = append(co.queues, q), append(r.queues, q)
	for _, set := range s.WorkloadsSets {
		var classes []*class
		for i := range set.Workloads {
			classes = append(classes, &class{Template: &set.Workloads[i], queue: q, cpu: set.Workloads[i].cpu()})
		}
		q.classes = append(q.classes, classes...)
		r.left += set.Count * len(classes)
		r.Result.Workloads += set.Count * len(classes)
		r.generate(set, classes, 0)
	}
}

// generate creates the n-th Workload of a set after its interval, and then the next ones. A creation
// takes its time, and the interval begins after it.
func (r *run) generate(s WorkloadSet, classes []*class, n int) {
	if n == s.Count*len(classes) {
		return
	}
	r.after(time.Duration(s.CreationIntervalMs)*time.Millisecond, func() {
		at := r.runner.Send(r.Now(), timing.Create)
		r.at(at, func() {
			w := &workload{class: classes[n%len(classes)], created: at, order: at}
			r.after(r.WatchDelay, func() {
				w.push()
				r.wake()
			})
			r.generate(s, classes, n+1)
		})
	})
}

func (r *run) at(t time.Time, do func()) {
	r.At(t, func(context.Context) error {
		do()
		return nil
	})
}

func (r *run) after(d time.Duration, do func()) { r.at(r.Now().Add(d), do) }

// patch sends a request of Kueue and returns when it takes effect.
func (r *run) patch() time.Time {
	r.Writes++
	return r.client.Send(r.Now(), timing.Patch)
}

// admit gives a Workload its quota at once; the runner sees it when it is written, and ends it after
// its time.
func (r *run) admit(w *workload) {
	w.queue.use(w.cpu, r.Now())
	w.queue.running = append(w.queue.running, w)
	w.reserved, w.evicted, w.seen, w.message = r.Now(), false, time.Time{}, ""
	if w.queue.sticky == w {
		w.queue.sticky = nil
	}
	reserved := w.reserved
	current := func() bool { return w.reserved.Equal(reserved) && !w.evicted && !w.done }
	r.at(r.patch().Add(r.WatchDelay), func() {
		if !w.reserved.Equal(reserved) {
			return
		}
		w.seen = r.Now()
		r.after(w.runtime(), func() {
			if current() {
				r.at(r.runner.Send(r.Now(), timing.Patch).Add(r.WatchDelay), func() { r.finish(w, current()) })
			}
		})
	})
}

// finish ends a Workload, unless it was evicted just before.
func (r *run) finish(w *workload, current bool) {
	if !current {
		return
	}
	w.done = true
	r.release(w)
	r.left--
	r.last = r.Now()
	r.admission[w.ClassName] += w.seen.Sub(w.created)
	r.counts[w.ClassName]++
}

// release gives the quota back, and makes Kueue try waiting Workloads of the cohort again.
func (r *run) release(w *workload) {
	w.queue.use(-w.cpu, r.Now())
	w.queue.running = slices.DeleteFunc(w.queue.running, func(o *workload) bool { return o == w })
	co := w.queue.cohort
	if co.flush {
		return
	}
	co.flush = true
	r.after(r.Batch, func() {
		co.flush = false
		for _, q := range co.queues {
			q.unpark()
		}
		r.wake()
	})
}

// evict writes that a Workload has to go; the runner then gives its quota back, and it waits again.
func (r *run) evict(w *workload) {
	w.evicted = true
	r.Evictions++
	reserved := w.reserved
	r.at(r.patch().Add(r.WatchDelay), func() {
		r.at(r.runner.Send(r.Now(), timing.Patch).Add(r.WatchDelay), func() {
			if w.done || !w.reserved.Equal(reserved) {
				return
			}
			r.release(w)
			w.reserved, w.order = time.Time{}, r.Now()
			w.push()
			r.wake()
		})
	})
}

func (r *run) result() Result {
	res := r.Result
	res.Wall = r.last.Sub(r.start)
	var used, quota int64
	for _, q := range r.queues {
		q.use(0, r.last)
		used, quota = used+q.used, quota+q.nominal
	}
	res.Use = 100 * float64(used) / (float64(quota) * float64(res.Wall.Milliseconds()))
	res.Admission = map[string]time.Duration{}
	for name, sum := range r.admission {
		res.Admission[name] = sum / time.Duration(r.counts[name])
	}
	return res
}
