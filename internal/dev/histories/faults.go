package histories

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Faults of requests and of watches, by name.
const (
	Refused  = "refused"  // a request is not done, and fails
	Lost     = "lost"     // a write is done, and its answer lost
	Hanging  = "hanging"  // there is no answer, whether a write was done or not
	Conflict = "conflict" // a write is not done; the answer is a conflict all the same
	Twice    = "twice"    // a proxy sends a write twice, and passes on the second answer
	Late     = "late"     // a write is done after the client was told that the connection failed
	Expired  = "expired"  // a list or watch is too old
	Stale    = "stale"    // a list is that of some time ago
	Stalled  = "stalled"  // a watch reports nothing more until it ends
	Repeated = "repeated" // a watch reports a change twice
	Old      = "old"      // a watch reports an older change of an object after a newer one
	Closed   = "closed"   // a watch ends
	Delayed  = "delayed"  // a watch reports a change later
	Broken   = "broken"   // a watch ends with an error
)

// All lists the faults. All but Old happen with lawful servers and networks.
var All = []string{Refused, Lost, Hanging, Conflict, Twice, Late, Expired, Stale, Stalled, Repeated, Old, Closed, Delayed, Broken}

// Dice decide which faults strike. They are safe for concurrent use.
type Dice struct {
	mu    sync.Mutex
	r     *rand.Rand
	kinds map[string]bool
	rate  float64
	heal  time.Time // no fault strikes from then on
}

// N returns a number below n.
func (d *Dice) N(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// Strike returns one of the faults, or "" for none.
func (d *Dice) Strike(of ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if fault := of[d.r.IntN(len(of))]; time.Now().Before(d.heal) && d.r.Float64() < d.rate && d.kinds[fault] {
		return fault
	}
	return ""
}

// pause lets some milliseconds pass before every other request.
func (d *Dice) pause(ctx context.Context) error {
	if d.N(2) == 0 {
		return nil
	}
	return sleep(ctx, time.Duration(d.N(20))*time.Millisecond)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is an error that does not tell whether the request was done.
func (d *Dice) failure() error {
	pods := schema.GroupResource{Resource: "pods"}
	all := []error{
		io.EOF, errors.New("connection refused"), context.DeadlineExceeded, apierrors.NewServiceUnavailable("away"), apierrors.NewInternalError(errors.New("etcd")),
		apierrors.NewTimeoutError("late", 1), apierrors.NewServerTimeout(pods, "patch", 1), apierrors.NewUnauthorized("rotating"),
	}
	return all[d.N(len(all))]
}

// refusal is an error of a request that was not done.
func (d *Dice) refusal() error {
	if d.N(4) == 0 {
		return apierrors.NewTooManyRequests("slow down", d.N(4))
	}
	return d.failure()
}

// faulty is a cluster between which and the player faults strike.
type faulty struct {
	transport.Transport
	dice *Dice
	mu   sync.Mutex
	old  *unstructured.UnstructuredList
	olds int // stale lists in a row: a server that always lags behind was restored from a backup
}

// write does a write, or not, or twice.
func write[T any](ctx context.Context, f *faulty, do func() (T, error)) (T, error) {
	var zero T
	if err := f.dice.pause(ctx); err != nil {
		return zero, err
	}
	switch f.dice.Strike(Refused, Lost, Hanging, Conflict, Twice, Late) {
	case Refused:
		return zero, f.dice.refusal()
	case Lost:
		_, _ = do()
		return zero, f.dice.failure()
	case Hanging:
		if f.dice.N(2) == 0 {
			_, _ = do()
		}
		<-ctx.Done()
		return zero, ctx.Err()
	case Conflict:
		return zero, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "", errors.New("there is none"))
	case Twice:
		_, _ = do()
	case Late:
		after := time.Duration(f.dice.N(3000)) * time.Millisecond
		go func() {
			time.Sleep(after)
			_, _ = do()
		}()
		return zero, io.EOF
	}
	return do()
}

func (f *faulty) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return write(ctx, f, func() (*unstructured.Unstructured, error) {
		return f.Transport.Create(context.Background(), obj.DeepCopy(), o)
	})
}

func (f *faulty) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	return write(ctx, f, func() (*unstructured.Unstructured, error) {
		return f.Transport.Patch(context.Background(), k, n, t, data, o, sub...)
	})
}

func (f *faulty) Delete(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := write(ctx, f, func() (any, error) { return nil, f.Transport.Delete(context.Background(), k, n, o) })
	return err
}

func (f *faulty) Get(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName) (*unstructured.Unstructured, error) {
	if f.dice.Strike(Refused) != "" {
		return nil, f.dice.refusal()
	}
	return f.Transport.Get(ctx, k, n)
}

func (f *faulty) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	switch f.dice.Strike(Refused, Expired, Stale, Hanging) {
	case Refused:
		return nil, f.dice.refusal()
	case Expired:
		return nil, apierrors.NewResourceExpired("expired")
	case Stale:
		if old := f.remembered(k); old != nil {
			return old, nil
		}
	case Hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l, err := f.Transport.List(ctx, k, ns, o)
	if err == nil && k == podKind {
		f.remember(l)
	}
	return l, err
}

// remembered returns the list of Pods of some time ago, at most three times in a row.
func (f *faulty) remembered(k schema.GroupVersionKind) *unstructured.UnstructuredList {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.old == nil || k != podKind || f.olds == 3 {
		return nil
	}
	f.olds++
	return f.old.DeepCopy()
}

func (f *faulty) remember(l *unstructured.UnstructuredList) {
	sometimes := f.dice.N(3) == 0
	f.mu.Lock()
	defer f.mu.Unlock()
	f.olds = 0
	if sometimes {
		f.old = l.DeepCopy()
	}
}

func (f *faulty) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	switch f.dice.Strike(Refused, Expired) {
	case Refused:
		return nil, f.dice.refusal()
	case Expired:
		return nil, apierrors.NewResourceExpired("too old")
	}
	real, err := f.Transport.Watch(ctx, k, ns, o)
	if err != nil {
		return nil, err
	}
	w := &faultyWatch{real: real, dice: f.dice, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// A faultyWatch passes the events of a watch on, until it ends some time.
type faultyWatch struct {
	real    watch.Interface
	dice    *Dice
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *faultyWatch) Stop()                          { w.once.Do(func() { close(w.stopped) }) }
func (w *faultyWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *faultyWatch) run(ctx context.Context) {
	defer w.real.Stop()
	defer close(w.events)
	end := time.NewTimer(time.Duration(w.dice.N(20_000)+50) * time.Millisecond)
	defer end.Stop()
	stalled := w.dice.Strike(Stalled) != ""
	var last watch.Event
	for {
		select {
		case <-end.C:
			return
		case <-w.stopped:
			return
		case <-ctx.Done():
			return
		case e, open := <-w.real.ResultChan():
			if !open || !stalled && !w.pass(ctx, e, last) {
				return
			}
			if e.Type != watch.Bookmark {
				last = e
			}
		}
	}
}

// pass passes an event on, after the last one. It is false if the watch ends.
func (w *faultyWatch) pass(ctx context.Context, e, last watch.Event) bool {
	switch w.dice.Strike(Repeated, Old, Expired, Closed, Delayed, Broken) {
	case Repeated:
		return w.put(ctx, e) && w.put(ctx, e)
	case Old:
		return w.put(ctx, e) && (!sameObject(last, e) || w.put(ctx, last))
	case Expired:
		w.put(ctx, failed(410, metav1.StatusReasonExpired))
		return false
	case Closed:
		return false
	case Delayed:
		return sleep(ctx, time.Duration(w.dice.N(2000))*time.Millisecond) == nil && w.put(ctx, e)
	case Broken:
		w.put(ctx, failed(500, metav1.StatusReasonInternalError))
		return false
	}
	return w.put(ctx, e)
}

// sameObject reports whether two events are of one object that exists.
func sameObject(a, b watch.Event) bool {
	x, ok := a.Object.(*unstructured.Unstructured)
	y, alsoOK := b.Object.(*unstructured.Unstructured)
	return ok && alsoOK && x.GetUID() == y.GetUID() && a.Type != watch.Deleted && b.Type != watch.Deleted
}

func failed(code int32, reason metav1.StatusReason) watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}}
}

func (w *faultyWatch) put(ctx context.Context, e watch.Event) bool {
	select {
	case w.events <- e:
		return true
	case <-w.stopped:
	case <-ctx.Done():
	}
	return false
}
