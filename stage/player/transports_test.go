package player_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// The transports of this file are a cluster in memory that fails in one way each.

// flaky is a transport whose writes fail as told.
type flaky struct {
	*memory.Cluster
	mu    sync.Mutex
	fail  func(verb, subresource string) error // called before each write
	calls []string
}

func (f *flaky) Share() transport.Transport { return f }

func (f *flaky) As(user string) transport.Writer {
	f.note("as "+user, "")
	return f.Cluster.As(user)
}

func (f *flaky) note(verb, subresource string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.TrimSpace(verb+" "+subresource))
	if f.fail == nil {
		return nil
	}
	return f.fail(verb, subresource)
}

func (f *flaky) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if err := f.note("create", ""); err != nil {
		return nil, err
	}
	return f.Cluster.Create(ctx, obj, o)
}

func (f *flaky) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if err := f.note("patch", strings.Join(sub, "/")); err != nil {
		return nil, err
	}
	return f.Cluster.Patch(ctx, k, n, t, data, o, sub...)
}

func (f *flaky) Delete(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, o metav1.DeleteOptions) error {
	if err := f.note("delete", ""); err != nil {
		return err
	}
	return f.Cluster.Delete(ctx, k, n, o)
}

func (f *flaky) count(call string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

func wrapped(f *flaky) func(transport.Transport) transport.Transport {
	return func(t transport.Transport) transport.Transport {
		f.Cluster = t.(*memory.Cluster)
		return f
	}
}

// watchesOfNew is a cluster whose watches report new objects only.
type watchesOfNew struct{ *memory.Cluster }

func (d watchesOfNew) Share() transport.Transport { return d }

func (d watchesOfNew) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	w, err := d.Cluster.Watch(ctx, k, ns, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) { return e, e.Type == watch.Added }), nil
}

// hangingPatches is a cluster that never answers a patch of the pod stuck.
type hangingPatches struct{ *memory.Cluster }

func (h hangingPatches) Share() transport.Transport { return h }

func (h hangingPatches) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if n.Name == "stuck" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Cluster.Patch(ctx, k, n, t, data, o, sub...)
}

// watchesWithoutDeletes is a cluster whose watches do not report deletions.
type watchesWithoutDeletes struct{ *memory.Cluster }

func (e watchesWithoutDeletes) Share() transport.Transport { return e }

func (e watchesWithoutDeletes) Watch(ctx context.Context, k schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	w, err := e.Cluster.Watch(ctx, k, namespace, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) { return e, e.Type != watch.Deleted }), nil
}

// lostAnswer carries out the first patch and then reports a timeout.
type lostAnswer struct {
	*flaky
	lost *atomic.Bool
}

func (f lostAnswer) Share() transport.Transport { return f }

func (f lostAnswer) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	obj, err := f.flaky.Patch(ctx, k, n, t, data, o, sub...)
	if err == nil && !f.lost.Swap(true) {
		return nil, apierrors.NewTimeoutError("no answer", 1)
	}
	return obj, err
}
