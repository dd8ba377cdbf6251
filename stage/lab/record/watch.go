package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A Cluster is a cluster that [Recorder.Watch] records. It must be safe for concurrent use.
type Cluster interface {
	transport.Lister
	transport.Watcher
}

// retryAfter is how long a recording waits after a failed request.
const retryAfter = time.Second

// Watch records what happens in a cluster to the objects of some kinds, by the clock of the machine,
// until ctx is done, and then returns nil. It only reads. The existing objects are recorded at one
// time, because the log does not know when they entered their states. The error is the error of the
// first list of a kind, or of the Sink. Failed is called for later requests that failed, by several
// goroutines at once; they are tried again after a second. Nil: nothing is called.
func (r *Recorder) Watch(ctx context.Context, cluster Cluster, failed func(error), kinds ...schema.GroupVersionKind) error {
	w := &watching{recorder: r, cluster: cluster, tell: failed, began: time.Now()}
	versions, err := w.begin(ctx, kinds)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(kinds))
	for i, kind := range kinds {
		all.Go(func() {
			if errs[i] = w.follow(ctx, kind, versions[kind]); errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// watching is one call of Watch.
type watching struct {
	recorder *Recorder
	cluster  Cluster
	tell     func(error)

	mutex sync.Mutex // keeps the times of the log in order
	began time.Time
}

// begin records the existing objects. It returns the versions from which to watch.
func (w *watching) begin(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]string, error) {
	versions := map[schema.GroupVersionKind]string{}
	lists := map[schema.GroupVersionKind][]unstructured.Unstructured{}
	for _, kind := range kinds {
		list, err := w.cluster.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		versions[kind], lists[kind] = list.GetResourceVersion(), list.Items
	}
	return versions, w.note(func(now time.Time) error {
		var errs []error
		for _, kind := range kinds {
			errs = append(errs, w.recorder.Sync(kind, lists[kind], now))
		}
		return errors.Join(errs...)
	})
}

// note records a change that happens now. The recorded time never goes back, even if the clock is
// changed.
func (w *watching) note(what func(now time.Time) error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return what(w.began.Add(time.Since(w.began)))
}

// follow watches a kind, and lists it again when a watch has failed.
func (w *watching) follow(ctx context.Context, kind schema.GroupVersionKind, version string) error {
	for ctx.Err() == nil {
		if version == "" {
			list, err := w.cluster.List(ctx, kind, "", metav1.ListOptions{})
			if err != nil {
				w.failed(ctx, err)
				continue
			}
			if err := w.note(func(now time.Time) error { return w.recorder.Sync(kind, list.Items, now) }); err != nil {
				return err
			}
			version = list.GetResourceVersion()
		}
		var err error
		if version, err = w.watch(ctx, kind, version); err != nil {
			return err
		}
	}
	return nil
}

// watch records one watch. It returns the version at which to continue, or "" if the watch failed.
// The error is the error of the sink.
func (w *watching) watch(ctx context.Context, kind schema.GroupVersionKind, version string) (string, error) {
	watcher, err := w.cluster.Watch(ctx, kind, "", metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		w.failed(ctx, err)
		return "", nil
	}
	defer watcher.Stop()
	for e := range watcher.ResultChan() {
		obj, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			w.failed(ctx, fmt.Errorf("watch %s: %v", kind.Kind, e.Object))
			return "", nil
		}
		version = obj.GetResourceVersion()
		if err := w.note(func(now time.Time) error { return w.recorder.Observe(e, now) }); err != nil {
			return "", err
		}
	}
	return version, nil
}

// failed reports a failure and waits.
func (w *watching) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if w.tell != nil {
		w.tell(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(retryAfter):
	}
}
