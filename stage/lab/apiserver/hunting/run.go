package hunting

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// An outcome is what came of a run.
type outcome struct {
	end, restarted, left hunt.State
	writes               []Request // until the end was judged
	watched              []string  // resources, in the order in which they were
	done                 map[write]int
	log                  []string
	struck               bool
}

// A write is what writes of one kind have in common.
type write struct{ method, resource string }

// A run is one life of a cluster.
type run struct {
	scenario Scenario
	config   *rest.Config
	start    time.Time
	fault    *Fault
	ending   context.Context // done when the run ends
	all      sync.WaitGroup  // lives, and those that start the next one

	mu     sync.Mutex // for what follows
	counts map[Request]int
	life   *life
	lagged time.Time // until when watches are held
	of     string    // of which resource; "": all
	over   bool      // the end was judged
	out    outcome
}

// A life of the manager ends with a crash.
type life struct {
	run   *run
	ctx   context.Context
	end   context.CancelFunc
	ended chan struct{}
}

// play makes a run in a bubble of its own.
func play(t *testing.T, o Options, s Scenario, f *Fault) *outcome {
	t.Helper()
	var out *outcome
	synctest.Test(t, func(t *testing.T) {
		o.Lab.Start, o.Lab.Quiet = time.Now(), true
		o.Lab.Sync = func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		lab := labtest.New(t, o.Lab)
		r := &run{scenario: s, start: time.Now(), fault: f, counts: map[Request]int{}, out: outcome{done: map[write]int{}}}
		r.config = apiserver.Start(t, lab.Cluster(), apiserver.Options{})
		var end context.CancelFunc
		r.ending, end = context.WithCancel(t.Context())
		defer func() { end(); r.all.Wait() }()
		r.carryOut(lab, o)
		out = &r.out
	})
	return out
}

func (r *run) carryOut(lab *labtest.Lab, o Options) {
	state := func() hunt.State { return hunt.StateOf(lab.Cluster(), o.Ignore...) }
	lab.Apply(r.scenario.Objects...)
	applied := slices.Clone(lab.Applied())
	r.begin()
	for _, step := range r.scenario.Steps {
		lab.Advance(max(step.At-time.Since(r.start), 0))
		step.Do(lab)
	}
	lab.Advance(max(time.Until(r.heldUntil("")), 0) + o.Patience)
	r.judged()
	r.out.end = state()
	r.restart()
	lab.Advance(o.Patience)
	r.out.restarted = state()
	background := metav1.DeletePropagationBackground
	for _, obj := range slices.Backward(applied) {
		name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		_ = lab.Cluster().Delete(context.Background(), obj.GroupVersionKind(), name, metav1.DeleteOptions{PropagationPolicy: &background}) // it may be gone
	}
	lab.Advance(o.Patience)
	r.out.left = state()
}

// judged ends the time in which faults strike.
func (r *run) judged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.fault = true, nil
}

// begin starts the manager, unless the run is over.
func (r *run) begin() {
	if r.ending.Err() != nil {
		return
	}
	l := &life{run: r, ended: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(r.ending)
	r.mu.Lock()
	r.life = l
	r.mu.Unlock()
	config := rest.CopyConfig(r.config)
	config.Wrap(l.wrap)
	r.all.Go(func() {
		defer close(l.ended)
		if err := r.scenario.Start(l.ctx, config); err != nil && l.ctx.Err() == nil {
			r.tell("the manager ends: %v", err)
			r.all.Go(func() { r.again(l) })
		}
	})
}

// crash ends a life; another one begins after 1s.
func (r *run) crash(l *life) {
	l.end()
	r.all.Go(func() { r.again(l) })
}

// again starts the manager when its last life is over.
func (r *run) again(l *life) {
	<-l.ended
	time.Sleep(time.Second)
	r.begin()
}

// restart ends the manager and starts it.
func (r *run) restart() {
	r.mu.Lock()
	l := r.life
	r.mu.Unlock()
	l.end()
	<-l.ended
	r.begin()
}

// tell adds a line to the log.
func (r *run) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.log = append(r.out.log, fmt.Sprintf("+%-9s ", time.Since(r.start))+fmt.Sprintf(format, args...))
}
