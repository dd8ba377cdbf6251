package staged

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// news is one state of an object, or its end; without an object, that all objects of the kind have been listed, or an error.
type news struct {
	kind   schema.GroupVersionKind
	obj    *unstructured.Unstructured
	gone   bool
	inList bool // the state was read, not watched
	listed bool
	err    error
}

// errNoResult stands for the error that a reader owes.
var errNoResult = errors.New("the reader returned neither a result nor an error")

// A follower follows the objects of one kind: it lists them, watches from there, and lists again when that fails. What went away unseen it finds by
// comparing lists.
type follower struct {
	reader  Reader
	kind    schema.GroupVersionKind
	retry   time.Duration
	send    chan<- news
	version string // to go on from; "" asks for a list
	known   map[types.NamespacedName]*unstructured.Unstructured
}

// run follows until ctx is done.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.follow(ctx)
		if err != nil && ctx.Err() == nil {
			f.version = ""
			f.tell(ctx, news{kind: f.kind, err: err})
		}
		pause(ctx, f.retry)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// follow lists if needed, and watches until the watch ends.
func (f *follower) follow(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	changes, err := f.reader.Watch(ctx, f.kind, "", metav1.ListOptions{ResourceVersion: f.version})
	if err != nil {
		return err
	}
	if changes == nil {
		return errNoResult
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			if err := f.event(ctx, e); err != nil {
				return err
			}
		}
	}
}

func (f *follower) list(ctx context.Context) error {
	found := map[types.NamespacedName]*unstructured.Unstructured{}
	o := metav1.ListOptions{Limit: 500}
	for {
		page, err := f.reader.List(ctx, f.kind, "", o)
		if err != nil {
			return err
		}
		if page == nil {
			return errNoResult
		}
		for i := range page.Items {
			found[nameOf(&page.Items[i])] = &page.Items[i]
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			f.version = page.GetResourceVersion()
			break
		}
	}
	for name, obj := range f.known {
		if now := found[name]; now == nil || now.GetUID() != obj.GetUID() {
			f.tell(ctx, news{kind: f.kind, obj: obj, gone: true})
		}
	}
	f.known = found
	for _, obj := range found {
		f.tell(ctx, news{kind: f.kind, obj: obj, inList: true})
	}
	f.tell(ctx, news{kind: f.kind, listed: true})
	return nil
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (f *follower) event(ctx context.Context, e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return errors.New("the watch sent what is no object")
	}
	f.version = obj.GetResourceVersion()
	switch e.Type {
	case watch.Bookmark:
		return nil
	case watch.Deleted:
		delete(f.known, nameOf(obj))
	default:
		f.known[nameOf(obj)] = obj
	}
	f.tell(ctx, news{kind: f.kind, obj: obj, gone: e.Type == watch.Deleted})
	return nil
}

func (f *follower) tell(ctx context.Context, s news) {
	select {
	case f.send <- s:
	case <-ctx.Done():
	}
}
