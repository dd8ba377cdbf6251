package nodes

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	listTimeout = 30 * time.Second // of one page of a list
	maxBackoff  = 30 * time.Second // between two attempts to list and watch
)

// followNodes updates the nodes from the cluster, with a reflector of client-go. It watches all
// Nodes, not only the Nodes that the policy selects: a Node that loses its label is not deleted.
func (h *LeaseHolder) followNodes(ctx context.Context) {
	expected := &unstructured.Unstructured{}
	expected.SetGroupVersionKind(nodeKind)
	options := cache.ReflectorOptions{Name: "stagecraft-nodes"}
	reflector := cache.NewReflectorWithOptions(nodeLister{h}, expected, nodeStore{h}, options)
	// Reflector.Run would log each error, and would wait long in virtual time.
	quiet := klog.NewContext(ctx, klog.Logger{})
	backoff := wait.Backoff{Duration: throttle, Factor: 2, Jitter: 0.5, Steps: 100, Cap: maxBackoff}
	_ = backoff.DelayWithReset(clock.RealClock{}, 2*maxBackoff).Until(quiet, true, true, func(ctx context.Context) (bool, error) {
		_ = reflector.ListAndWatchWithContext(ctx) // nodeLister has reported its error
		return false, nil
	})
}

// nodeLister lists and watches Nodes for a reflector, and reports failures.
type nodeLister struct{ *LeaseHolder }

var _ cache.ListerWatcherWithContext = nodeLister{}

// IsWatchListSemanticsUnSupported makes the reflector list Nodes instead of asking for them in the
// watch, which not every [transport.Reader] supports.
func (nodeLister) IsWatchListSemanticsUnSupported() bool { return true }

// List implements [cache.ListerWatcher].
func (l nodeLister) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch implements [cache.ListerWatcher].
func (l nodeLister) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext implements [cache.ListerWithContext].
func (l nodeLister) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := l.cluster.List(limited, nodeKind, "", o)
	if err == nil && list == nil {
		err = errNoResult
	}
	if err != nil {
		return nil, l.report(ctx, err)
	}
	return list, nil
}

// WatchWithContext implements [cache.WatcherWithContext].
func (l nodeLister) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	changes, err := l.cluster.Watch(ctx, nodeKind, "", o)
	if err == nil && changes == nil {
		err = errNoResult
	}
	if err != nil {
		return nil, l.report(ctx, err)
	}
	return observe(changes, func(e watch.Event) {
		if e.Type == watch.Error {
			_ = l.report(ctx, apierrors.FromObject(e.Object))
		}
	}), nil
}

// An observedWatch is a watch that calls a function for each event. Unlike watch.Filter, it ends
// when it is stopped, even if an event waits for its reader.
type observedWatch struct {
	changes watch.Interface
	out     chan watch.Event
	stop    func()
	stopped chan struct{}
}

func observe(changes watch.Interface, see func(watch.Event)) watch.Interface {
	w := &observedWatch{changes: changes, out: make(chan watch.Event), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.stopped); changes.Stop() })
	go w.run(see)
	return w
}

func (w *observedWatch) run(see func(watch.Event)) {
	defer close(w.out)
	for e := range w.changes.ResultChan() {
		see(e)
		select {
		case w.out <- e:
		case <-w.stopped:
			return
		}
	}
}

func (w *observedWatch) Stop()                          { w.stop() }
func (w *observedWatch) ResultChan() <-chan watch.Event { return w.out }

// report calls Options.Failed with an error, and returns the error.
func (l nodeLister) report(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		l.options.Failed(fmt.Errorf("nodes: follow Nodes: %w", err))
	}
	return err
}

// nodeStore is the store of the reflector. It stores only names, uids and what the policy decides.
type nodeStore struct{ *LeaseHolder }

var _ cache.ReflectorStore = nodeStore{}

// Add implements [cache.ReflectorStore].
func (s nodeStore) Add(obj any) error { return s.Update(obj) }

// Update implements [cache.ReflectorStore].
func (s nodeStore) Update(obj any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := obj.(*unstructured.Unstructured); ok {
		s.nodeFound(n)
	}
	return nil
}

// Delete implements [cache.ReflectorStore].
func (s nodeStore) Delete(obj any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := obj.(*unstructured.Unstructured); ok {
		s.nodeGone(n.GetName())
	}
	return nil
}

// Replace implements [cache.ReflectorStore] for a list of all Nodes.
func (s nodeStore) Replace(all []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed := map[string]bool{}
	for _, obj := range all {
		if n, ok := obj.(*unstructured.Unstructured); ok {
			listed[n.GetName()] = true
			s.nodeFound(n)
		}
	}
	for name := range s.nodes {
		if !listed[name] {
			s.nodeGone(name)
		}
	}
	s.listed = true
	s.notify()
	return nil
}

// Resync implements [cache.ReflectorStore]. There is nothing to do.
func (s nodeStore) Resync() error { return nil }

// nodeFound records the state of a Node.
func (h *LeaseHolder) nodeFound(obj *unstructured.Unstructured) {
	n := h.nodes[obj.GetName()]
	isNew := n == nil
	if isNew {
		n = &node{name: obj.GetName()}
		h.nodes[n.name] = n
	}
	wasManaged := n.managed
	n.uid = obj.GetUID()
	n.managed, n.owned = h.rules.Manages(obj), h.options.Owns(obj)
	if isNew || n.managed != wasManaged {
		h.notify()
	}
	h.schedule(n, time.Now())
}

// nodeGone records that a Node does not exist.
func (h *LeaseHolder) nodeGone(name string) {
	n := h.nodes[name]
	if n == nil {
		return
	}
	delete(h.nodes, name)
	h.due.remove(n)
	if _, certain := h.rules.certain(name); !certain && n.managed {
		h.gone.add(name)
	}
	h.notify()
}
