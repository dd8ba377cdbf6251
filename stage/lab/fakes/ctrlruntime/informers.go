package ctrlruntime

import (
	"context"
	"errors"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// informers is a cache.Cache that records which sources ask for which events. It reads as the
// client does.
type informers struct {
	*conn
	context context.Context
	asked   []*informer // since a controller began to start its sources
}

// An informer has the event handlers of one source. It is a cache.Informer.
type informer struct {
	cache.Informer // nil: for methods that later versions add
	kind           schema.GroupVersionKind
	goType         reflect.Type // of the objects that handlers get
	handlers       []toolscache.ResourceEventHandler
}

func (c *informers) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	kind, err := apiutil.GVKForObject(obj, c.server.Scheme)
	if err != nil {
		return nil, err
	}
	i := &informer{kind: kind, goType: reflect.TypeOf(obj).Elem()}
	c.asked = append(c.asked, i)
	return i, nil
}

func (c *informers) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, o ...cache.InformerGetOption) (cache.Informer, error) {
	made, err := c.server.Scheme.New(kind)
	obj, ok := made.(client.Object)
	if err != nil || !ok {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		obj = u
	}
	return c.GetInformer(ctx, obj, o...)
}

func (c *informers) RemoveInformer(context.Context, client.Object) error { return nil }

func (c *informers) Start(context.Context) error { return nil }

func (c *informers) WaitForCacheSync(context.Context) bool { return true }

// IndexField adds an index to the client.
func (c *informers) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	c.indexes = append(c.indexes, Index{obj, field, extract})
	return nil
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return registered{}, nil
}

// registered is the registration of a handler.
type registered struct {
	toolscache.ResourceEventHandlerRegistration // nil: for methods that later versions add
}

func (registered) HasSynced() bool { return true }

func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	return errors.New("handlers of a hunt are not removed")
}

func (i *informer) AddIndexers(toolscache.Indexers) error {
	return errors.New("informers of a hunt have no indexers: use the FieldIndexer of the manager")
}

func (i *informer) HasSynced() bool { return true }

func (i *informer) IsStopped() bool { return false }

// watch makes the handlers fill a queue with the keys that a change concerns.
func (i *informer) watch(q *keys) reconcile.Watch {
	return reconcile.Watch{Kind: i.kind, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		q.open, q.names = true, nil
		for _, h := range i.handlers {
			switch {
			case ch.Old == nil:
				h.OnAdd(i.typed(ch.New), false)
			case ch.New == nil:
				h.OnDelete(i.typed(ch.Old))
			default:
				h.OnUpdate(i.typed(ch.Old), i.typed(ch.New))
			}
		}
		q.open = false
		return q.names
	}}
}

// typed returns an object as the type that the handlers want.
func (i *informer) typed(obj *unstructured.Unstructured) any {
	if i.goType == reflect.TypeFor[unstructured.Unstructured]() {
		return obj.DeepCopy()
	}
	made := reflect.New(i.goType).Interface()
	if partial, ok := made.(*metav1.PartialObjectMetadata); ok {
		partial.SetGroupVersionKind(i.kind)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, made); err != nil {
		return obj.DeepCopy() // the handler leaves it out, as an informer does that cannot read an object
	}
	return made
}

// keys is a queue of the keys that the handlers add during one change.
type keys struct {
	open  bool
	names []types.NamespacedName
	stray bool // something was put into it at another time
}

func (q *keys) Add(r ctrl.Request) {
	if !q.open {
		q.stray = true
		return
	}
	q.names = append(q.names, r.NamespacedName)
}

func (q *keys) AddAfter(r ctrl.Request, _ time.Duration) { q.Add(r) }

func (q *keys) AddRateLimited(r ctrl.Request) { q.Add(r) }

func (q *keys) Forget(ctrl.Request) {}

func (q *keys) NumRequeues(ctrl.Request) int { return 0 }

func (q *keys) Len() int { return len(q.names) }

func (q *keys) Get() (ctrl.Request, bool) { return ctrl.Request{}, true }

func (q *keys) Done(ctrl.Request) {}

func (q *keys) ShutDown() {}

func (q *keys) ShutDownWithDrain() {}

func (q *keys) ShuttingDown() bool { return false }
