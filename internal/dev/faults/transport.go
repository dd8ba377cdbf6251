package faults

import (
	"context"
	"errors"
	"io"
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

type object = unstructured.Unstructured

// Transport returns a cluster that faults strike between it and the client.
func Transport(to transport.Transport, d *Dice) transport.Transport {
	return &faulty{to: to, dice: d, former: map[listed]*Former[*unstructured.UnstructuredList]{}}
}

type faulty struct {
	to     transport.Transport
	dice   *Dice
	mu     sync.Mutex
	former map[listed]*Former[*unstructured.UnstructuredList]
}

type listed struct {
	kind      schema.GroupVersionKind
	namespace string
	options   string
}

// answers are those of a request that do does.
func answers[T any](d *Dice, do func() (T, error)) Answers[T] {
	fails := func(err func() error) func() (T, error) {
		return func() (none T, _ error) { return none, err() }
	}
	return Answers[T]{
		Do:       do,
		Refused:  fails(d.refusal),
		Failed:   fails(d.failure),
		Cut:      fails(func() error { return io.EOF }),
		Conflict: fails(func() error { return apierrors.NewConflict(schema.GroupResource{}, "", errors.New("there is none")) }),
		Expired:  fails(func() error { return apierrors.NewResourceExpired("expired") }),
	}
}

// failure is an error that does not tell whether the request was done.
func (d *Dice) failure() error {
	all := []error{
		io.EOF, errors.New("connection refused"), context.DeadlineExceeded, apierrors.NewServiceUnavailable("away"), apierrors.NewInternalError(errors.New("etcd")),
		apierrors.NewTimeoutError("late", 1), apierrors.NewServerTimeout(schema.GroupResource{}, "patch", 1), apierrors.NewUnauthorized("rotating"),
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

func write[T any](ctx context.Context, d *Dice, do func() (T, error)) (none T, err error) {
	if d.N(2) > 0 {
		if err := sleep(ctx, d.millis(20)); err != nil {
			return none, err
		}
	}
	return Write(ctx, d, answers(d, do))
}

func (f *faulty) Create(ctx context.Context, obj *object, o metav1.CreateOptions) (*object, error) {
	return write(ctx, f.dice, func() (*object, error) { return f.to.Create(context.WithoutCancel(ctx), obj.DeepCopy(), o) })
}

func (f *faulty) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*object, error) {
	return write(ctx, f.dice, func() (*object, error) { return f.to.Patch(context.WithoutCancel(ctx), k, n, t, data, o, sub...) })
}

func (f *faulty) Delete(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := write(ctx, f.dice, func() (any, error) { return nil, f.to.Delete(context.WithoutCancel(ctx), k, n, o) })
	return err
}

func (f *faulty) Get(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName) (*object, error) {
	return Read(ctx, f.dice, answers(f.dice, func() (*object, error) { return f.to.Get(ctx, k, n) }))
}

func (f *faulty) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	former := f.formerOf(listed{k, ns, o.String()})
	l, err := List(ctx, f.dice, former, answers(f.dice, func() (*unstructured.UnstructuredList, error) {
		l, err := f.to.List(ctx, k, ns, o)
		if err == nil {
			former.Note(f.dice, l)
		}
		return l, err
	}))
	if err != nil {
		return nil, err
	}
	return l.DeepCopy(), nil
}

func (f *faulty) formerOf(l listed) *Former[*unstructured.UnstructuredList] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.former[l] == nil {
		f.former[l] = new(Former[*unstructured.UnstructuredList])
	}
	return f.former[l]
}

func (f *faulty) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	switch f.dice.Strike(Refused, Expired) {
	case Refused:
		return nil, f.dice.refusal()
	case Expired:
		return nil, apierrors.NewResourceExpired("too old")
	}
	real, err := f.to.Watch(ctx, k, ns, o)
	if err != nil {
		return nil, err
	}
	w := &faultyWatch{real: real, dice: f.dice, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// Life returns how long a watch lives before the server ends it.
func (d *Dice) Life() time.Duration { return d.millis(20_000) + 50*time.Millisecond }
