package server

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A Decoder turns a stored object into what a client returns.
type Decoder func(*unstructured.Unstructured) (runtime.Object, error)

// Watch returns watch events with objects as a client returns them. An object that cannot be
// decoded becomes an ERROR event. After Stop or the end of ctx no goroutine is left, whether all
// events were read or not: in a testing/synctest bubble a remaining goroutine would be a deadlock.
// watch.Filter does not guarantee that.
func (s Server) Watch(ctx context.Context, t Target, o metav1.ListOptions, decode Decoder) (watch.Interface, error) {
	source, err := s.Cluster.Watch(ctx, t.Kind, t.Name.Namespace, o)
	if err != nil {
		return nil, err
	}
	w := &watcher{source: source, decode: decode, out: make(chan watch.Event), done: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// A watcher passes decoded events on.
type watcher struct {
	source watch.Interface
	decode Decoder
	out    chan watch.Event
	done   chan struct{}
	once   sync.Once
}

func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

func (w *watcher) Stop() {
	w.once.Do(func() { close(w.done) })
	w.source.Stop()
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	for e := range w.source.ResultChan() {
		select {
		case w.out <- w.decoded(e):
		case <-w.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) decoded(e watch.Event) watch.Event {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return e
	}
	obj, err := w.decode(u)
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		return watch.Event{Type: watch.Error, Object: &status}
	}
	return watch.Event{Type: e.Type, Object: obj}
}
