package verdict

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// An ID is what both modules call ObjMetadata.
type ID struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
}

// A Change is an event of a watch: the verdict on an object, or that all have been looked up once.
type Change struct {
	ID
	Verdict
	Synced bool
}

// Watch reports the verdicts on objects with package wait, until the context ends or the reporter
// returns false. Kinds that the mapper does not know are NotFound, and asked for again.
func (r *Reader) Watch(ctx context.Context, cluster transport.Reader, ids []ID, report func(Change) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watching{reader: r, cluster: &recorder{Reader: cluster, objects: map[wait.Ref]*unstructured.Unstructured{}}, report: report, stop: cancel, unseen: map[ID]bool{}}
	byKind := map[schema.GroupKind][]ID{}
	for _, id := range ids {
		byKind[id.Kind] = append(byKind[id.Kind], id)
		w.unseen[id] = true
	}
	if len(ids) == 0 {
		report(Change{Synced: true})
	}
	var mapped []wait.Ref
	var kinds sync.WaitGroup
	for kind, ids := range byKind {
		refs, err := w.refs(kind, ids)
		if err == nil {
			mapped = append(mapped, refs...)
			continue
		}
		kinds.Go(func() { w.late(ctx, kind, ids, err) })
	}
	w.follow(ctx, mapped)
	kinds.Wait()
	<-ctx.Done()
}

// A watching is a Watch in progress.
type watching struct {
	reader  *Reader
	cluster *recorder
	stop    context.CancelFunc

	mu     sync.Mutex // of what follows
	report func(Change) bool
	unseen map[ID]bool
}

// refs returns references with the version that the mapper prefers.
func (w *watching) refs(kind schema.GroupKind, ids []ID) (refs []wait.Ref, err error) {
	mapping, err := w.reader.Mapper.RESTMapping(kind)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		refs = append(refs, wait.Ref{Kind: mapping.GroupVersionKind, Namespace: id.Namespace, Name: id.Name})
	}
	return refs, nil
}

// retryMapping is the time until a watch asks the mapper again for a kind that it did not know.
const retryMapping = 2 * time.Second

// late follows objects of a kind that the mapper does not know yet.
func (w *watching) late(ctx context.Context, kind schema.GroupKind, ids []ID, err error) {
	for _, id := range ids {
		w.send(id, notFoundOr(notFound(err)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryMapping):
		}
		meta.MaybeResetRESTMapper(w.reader.Mapper)
		if refs, err := w.refs(kind, ids); err == nil {
			w.follow(ctx, refs)
			return
		}
	}
}

// follow reports every change of the objects until the context ends.
func (w *watching) follow(ctx context.Context, refs []wait.Ref) {
	if len(refs) == 0 {
		return
	}
	states, err := wait.Events(ctx, w.cluster, refs, wait.Options{Rules: w.reader.Rules})
	if err != nil {
		for _, ref := range refs {
			w.send(ID{ref.Kind.GroupKind(), ref.Namespace, ref.Name}, notFoundOr(err))
		}
		return
	}
	for s := range states {
		v := w.reader.verdict(w.cluster.object(s.Ref), s.Result)
		v.Err = s.Err
		w.send(ID{s.Ref.Kind.GroupKind(), s.Ref.Namespace, s.Ref.Name}, v)
	}
}

func (w *watching) send(id ID, v Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	goesOn := w.report(Change{ID: id, Verdict: v})
	if w.unseen[id] {
		if delete(w.unseen, id); len(w.unseen) == 0 && goesOn {
			goesOn = w.report(Change{Synced: true})
		}
	}
	if !goesOn {
		w.stop()
	}
}

// A recorder is a cluster that remembers the last form of each object that was read, since package
// wait does not.
type recorder struct {
	transport.Reader
	mu      sync.Mutex
	objects map[wait.Ref]*unstructured.Unstructured
}

func (r *recorder) object(ref wait.Ref) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[ref]
}

func (r *recorder) record(obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[wait.RefOf(obj)] = obj
}

// Definition implements [kstatus.DefinitionReader].
func (r *recorder) Definition(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if definitions, ok := r.Reader.(kstatus.DefinitionReader); ok {
		return definitions.Definition(ctx, kind)
	}
	return nil, nil
}

// List implements [transport.Lister].
func (r *recorder) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := r.Reader.List(ctx, kind, namespace, o)
	if err == nil {
		for i := range list.Items {
			r.record(&list.Items[i])
		}
	}
	return list, err
}

// Watch implements [transport.Watcher].
func (r *recorder) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	events, err := r.Reader.Watch(ctx, kind, namespace, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
		if obj, ok := e.Object.(*unstructured.Unstructured); ok && (e.Type == watch.Added || e.Type == watch.Modified) {
			r.record(obj)
		}
		return e, true
	}), nil
}
