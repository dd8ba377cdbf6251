package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Process is one life of a program: from its start to its crash. It is the client that its
// controllers use. Reads come from what the process has seen, like reads of a manager's client;
// objects that they return are copies. Its methods are those of memory.Cluster. After a crash it
// answers every request with an error, and nothing it asks for is done. It must not be used from
// several goroutines at once.
type Process struct {
	run        *Run
	program    *program
	loop       *reconcile.Loop
	kinds      []schema.GroupVersionKind
	views      map[schema.GroupVersionKind]*view
	given      []given
	failing    map[string]error // the last error of keys that have not succeeded since
	dead       bool
	expires    time.Time // when it learns that it has lost the lease; zero: it has not
	context    context.Context
	end        context.CancelFunc
	controller string // the one that reconciles
	key        types.NamespacedName
}

// Context returns a context that ends with the life of the process.
func (p *Process) Context() context.Context { return p.context }

// Fail ends the hunt with an error, if the process cannot be set up.
func (p *Process) Fail(err error) {
	panic(labFailure{fmt.Sprintf("process %s: %v", p.program.name, err)})
}

// errDead is the answer to a process that has crashed.
var errDead = errors.New("hunt: the process has crashed")

// crash is what a client panics with, so that its controller does nothing more.
type crash struct{}

// maxReconciles is how often a key may be reconciled at one instant.
const maxReconciles = 200

// begin starts a program.
func (r *Run) begin(p *program) {
	p.lives++
	life := &Process{run: r, program: p, views: map[schema.GroupVersionKind]*view{}, failing: map[string]error{}}
	life.context, life.end = context.WithCancel(context.Background())
	p.life = life
	p.takeLease()
	controllers := slices.Clone(p.start(life))
	for i := range controllers {
		c := &controllers[i]
		if slices.ContainsFunc(controllers[:i], func(other reconcile.Controller) bool { return other.Name == c.Name }) {
			panic(labFailure{fmt.Sprintf("process %s: two controllers are named %s: give each a name of its own", p.name, c.Name)})
		}
		r.keys[p.subject+"/"+c.Name] = c.For
		if c.Reconcile != nil {
			c.Reconcile = life.watched(c.Name, c.Reconcile)
		}
	}
	if err := reconcile.Check(controllers...); err != nil {
		life.Fail(err)
	}
	for _, kind := range r.informers[p.subject] {
		controllers = append(controllers, reconcile.Controller{
			Name: "informer of " + kind.String(), For: kind, When: func(reconcile.Change) bool { return false },
		})
	}
	o := reconcile.Options{MaxReconciles: maxReconciles, MaxRetryAfter: r.options.Patience / 4, Trace: life.trace}
	if !r.options.OwnWrites {
		o.Timing = &reconcile.Timing{StaleWrites: true}
	}
	life.loop = reconcile.NewLoop(life, o, controllers...)
	life.kinds = life.loop.Kinds()
	switch {
	case p.election != nil:
		r.tell(p.name, "leads")
	case p.lives > 1:
		r.tell(p.name, "starts again")
	}
	life.list()
}

// watched calls a controller, knows whom it serves, and ends a crash.
func (p *Process) watched(controller string, do func(context.Context, reconcile.Request) (reconcile.Result, error)) func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return func(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
		p.controller, p.key = controller, request.Name
		p.run.served[p.program.subject+"/"+controller] = true
		request.Now = p.run.clock(p.program)
		defer func() {
			if cause := recover(); cause != nil {
				result, err = reconcile.Result{}, p.fallen(cause)
			}
		}()
		return do(ctx, request)
	}
}

// fallen returns what ended a reconcile as an error. A panic of the controller is a finding.
func (p *Process) fallen(cause any) error {
	if failure, ok := cause.(labFailure); ok {
		panic(failure)
	}
	if _, ok := cause.(crash); ok || p.dead {
		return errDead
	}
	p.run.foundPanic(p, cause)
	return fmt.Errorf("panic: %v", cause)
}

func (r *Run) foundPanic(p *Process, cause any) {
	r.tell(p.program.name, "%s %s panics: %v", p.controller, p.key, cause)
	r.find(checkPanic, p.controller, "%s %s: %v", p.controller, p.key, cause)
}

// panicked is an error that a binding makes of a panic, like the one of controller-runtime.
type panicked interface {
	error
	Panic() any
}

// trace takes in how a reconcile ended.
func (p *Process) trace(e reconcile.TraceEvent) {
	var cause panicked
	switch {
	case p.dead:
	case e.Err == nil:
		delete(p.failing, e.Controller+" "+e.Name.String())
	case errors.Is(e.Err, reconcile.ErrLivelock):
		p.run.tell(p.program.name, "%s %s was reconciled %d times and time did not pass", e.Controller, e.Name, maxReconciles)
		p.run.find(checkLivelock, e.Controller, "%s %s is reconciled for ever", e.Controller, e.Name)
	case errors.As(e.Err, &cause):
		p.run.foundPanic(p, cause.Panic())
	default:
		p.failing[e.Controller+" "+e.Name.String()] = e.Err
		p.run.tell(p.program.name, "%s %s fails: %v", e.Controller, e.Name, e.Err)
	}
}

// crash ends the life of a process, for a while.
func (r *Run) crash(p *Process, f Fault) {
	p.die()
	p.program.up = r.sim.Now().Add(cmp.Or(f.For, time.Second))
	p.program.back = f.Behind
}

func (p *Process) die() {
	p.dead = true
	p.end()
	p.checkCaches()
	p.program.leaveLease(p.run.sim.Now())
	p.program.life = nil
}

// step has a process do the first thing that is due.
func (p *Process) step(now time.Time) {
	p.loop.Step(p.context, now)
	if p.dead {
		p.loop.Stop()
	}
}

// nextOf returns when a program has something to do.
func (r *Run) nextOf(p *program) (at time.Time, ok bool) {
	if p.life == nil {
		return p.begins()
	}
	if p.paused {
		return at, false
	}
	at, ok = p.life.loop.NextDue()
	if held, is := p.life.catchesUp(); is && (!ok || held.Before(at)) {
		at, ok = held, true
	}
	if lost := p.life.expires; !lost.IsZero() && (!ok || lost.Before(at)) {
		return lost, true
	}
	return at, ok
}
