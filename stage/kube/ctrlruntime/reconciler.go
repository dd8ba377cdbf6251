package ctrlruntime

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// ReconcilerOptions of [NewReconciler]. The zero value is usable.
type ReconcilerOptions struct {
	// Seed decides all draws, together with the names of the objects.
	Seed uint64
	// Trace is called for everything that happens, by several goroutines at once.
	Trace func(stage.TraceEvent)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// A Reconciler plays the objects of one kind, for programs with their own reconcile loop. Reconcile
// does what is due for an object, and asks for another call at the next transition. If an effect
// fails, Reconcile returns the error. The next call then repeats the transition from its first
// effect, if the Stage still matches. A patch that was already applied changes nothing.
//
// It can read from a cache: it ignores a state that is older than its own last write.
//
// It is safe for concurrent use for different objects, as controllers call it.
type Reconciler struct {
	cluster *Cluster
	set     *stage.Set
	kind    schema.GroupVersionKind
	options ReconcilerOptions

	mutex sync.Mutex
	parts map[types.NamespacedName]*part
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// A part is the Engine and the state of one object.
type part struct {
	engine *stage.Engine
	failed *stage.Transition          // to be done again
	newest *unstructured.Unstructured // the last state known
	gone   bool                       // an effect deleted the object
}

// learn records a state that was read, and returns the newest; nil if the object is known to be
// deleted. A state with another uid is another object.
func (p *part) learn(obj *unstructured.Unstructured) *unstructured.Unstructured {
	same := p.newest != nil && p.newest.GetUID() == obj.GetUID()
	switch {
	case same && p.gone:
		return nil
	case same && version(obj) < version(p.newest):
		return p.newest
	}
	p.newest, p.gone = obj, false
	return obj
}

// version is the resourceVersion as a number, or 0 if it is not a number. Kubernetes defines its
// order since 1.35; earlier versions had the same order in practice.
func version(obj *unstructured.Unstructured) uint64 {
	n, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return n
}

// NewReconciler returns a reconciler for the objects of a kind.
func NewReconciler(c *Cluster, s *stage.Set, kind schema.GroupVersionKind, o ReconcilerOptions) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Reconciler{cluster: c, set: s, kind: kind, options: o, parts: map[types.NamespacedName]*part{}}
}

// Reconcile does what is due for an object. The Result says when to call again, if nothing happens
// before.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	obj, err := r.cluster.Get(ctx, r.kind, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	p := r.part(request.NamespacedName)
	if obj = p.learn(obj); obj == nil {
		return reconcile.Result{}, nil // the cache does not have it yet
	}
	r.set.ObserveEnv(obj)
	return r.play(ctx, p, obj)
}

// play does what is due, until nothing more is due.
func (r *Reconciler) play(ctx context.Context, p *part, obj *unstructured.Unstructured) (reconcile.Result, error) {
	obj, err := r.again(ctx, p, obj)
	for err == nil && obj != nil {
		now := r.options.Now()
		if err := p.engine.Observe(obj, now); err != nil {
			return reconcile.Result{}, reconcile.TerminalError(err) // a livelock: until the object changes
		}
		t, due := first(p.engine, now)
		if !due {
			return next(p.engine, now), nil
		}
		obj, err = r.do(ctx, p, t, obj)
	}
	return reconcile.Result{}, err
}

// first takes one transition that is due.
func first(e *stage.Engine, now time.Time) (stage.Transition, bool) {
	for t := range e.Due(now) {
		return t, true
	}
	return stage.Transition{}, false
}

// next says when a transition is due.
func next(e *stage.Engine, now time.Time) reconcile.Result {
	at, ok := e.NextDue()
	if !ok {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: at.Sub(now)}
}

// again repeats a transition that failed, if the object is still the same and the Stage matches.
func (r *Reconciler) again(ctx context.Context, p *part, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t := p.failed
	p.failed = nil
	if t == nil || t.UID != obj.GetUID() {
		return obj, nil
	}
	for _, c := range r.set.Candidates(obj, r.options.Now()) {
		if c.Stage == t.Stage {
			return r.do(ctx, p, *t, obj)
		}
	}
	return obj, nil
}

// do carries out a transition, and returns the object afterwards; nil if it is deleted, or if there
// is nothing to do before it changes.
func (r *Reconciler) do(ctx context.Context, p *part, t stage.Transition, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj, err := player.Do(ctx, r.cluster, t, obj, player.DoOptions{Now: r.options.Now(), Trace: r.options.Trace})
	if obj == nil {
		p.gone = true
	} else {
		p.newest = obj
	}
	var eval *stage.Error
	switch {
	case errors.As(err, &eval):
		return nil, reconcile.TerminalError(err) // another try would fail in the same way
	case err != nil:
		p.failed = &t
	}
	return obj, err
}

func (r *Reconciler) part(name types.NamespacedName) *part {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.parts[name]
	if p == nil {
		p = &part{engine: stage.NewEngine(r.set, stage.EngineOptions{Seed: r.options.Seed, Trace: r.options.Trace})}
		r.parts[name] = p
	}
	return p
}

func (r *Reconciler) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if p := r.parts[name]; p != nil {
		r.set.ForgetEnv(p.newest)
		delete(r.parts, name)
	}
}
