package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options of a [Cluster]. The zero value is the default.
type Options struct {
	Seed              uint64           // decides uids and generated names
	Now               func() time.Time // default: time.Now; called with the cluster locked
	Kinds             []Kind           // in addition to the built-in kinds
	History           int              // the number of events kept for each resource, so that a watch can begin at an earlier version; default: 10,000
	RequireNamespaces bool             // creating an object in a namespace that does not exist is an error
	RequireOwners     bool             // an object whose owner never existed is deleted, like an object whose owner is gone
	LateCollection    bool             // garbage is collected by calls of Cluster.Collect; default: within the write that causes it
	Trace             func(Request)    // called after every write, on the goroutine that wrote; nil: off

	packFrom int // if a resource has more objects than this, idle objects are packed, see slot; default: 131,072
}

// Request describes a write to [Options.Trace].
type Request struct {
	Time        time.Time
	User        string // the user who sent it; see [Cluster.Impersonate]
	Verb        string // create, update, patch, apply or delete
	Kind        schema.GroupVersionKind
	Name        types.NamespacedName
	Subresource string
	Err         error // nil: it succeeded
	// Warning says what the cluster does not do for the written object; "" without a warning. A
	// CustomResourceDefinition with a schema gets one warning if no hooks of the cluster use
	// schemas, see [Hooks.Schemas].
	Warning string
}

// Cluster is a handle on an in-memory API server. A handle determines which user writes, and
// whether results are copies. It is safe for concurrent use.
type Cluster struct {
	*store
	user   string
	shared bool
}

// New returns an empty cluster.
func New(o Options) *Cluster {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.History <= 0 {
		o.History = 10_000
	}
	if o.packFrom == 0 {
		o.packFrom = 1 << 17
	}
	return &Cluster{store: newStore(o)}
}

// Impersonate returns a handle on the same cluster that writes as another user.
func (c *Cluster) Impersonate(user string) *Cluster {
	return &Cluster{store: c.store, user: user, shared: c.shared}
}

// Shared returns a handle on the same cluster. Its results and watch events are the stored objects
// themselves, without a copy, so they must not be changed. A stored object never changes; a write
// stores a new object. If a resource has more than 131,072 objects, the cluster packs each object
// without a write during the last [Options.History] events: it encodes the object as a string, and
// decodes it when the object is read.
func (c *Cluster) Shared() *Cluster {
	return &Cluster{store: c.store, user: c.user, shared: true}
}

// TrackFields gives managedFields to every object that any handle creates from now on, as an API
// server does. Without TrackFields an object has managedFields from its first server-side apply on.
// TrackFields cannot be undone.
func (c *Cluster) TrackFields() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracks = true
}

// Now returns the time of the cluster's clock, the same that objects created now get.
func (c *Cluster) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// result returns what this handle returns for an object in the version of the request.
func (c *Cluster) result(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	if c.shared {
		return obj
	}
	return &unstructured.Unstructured{Object: object.CopyMap(obj.Object)}
}

// Get returns one object. It ignores the namespace for a cluster-scoped kind.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	c.expireBeforeRead(gvk)
	c.mu.RLock()
	k, r, err := c.find(gvk, name)
	var obj *unstructured.Unstructured
	ready := true
	if err == nil {
		obj, ready = r.slot.peek()
	}
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	if !ready {
		obj = c.unpacked(r)
	}
	if obj == nil {
		return nil, nil
	}
	if obj, err = c.asVersion(ctx, k, obj); err != nil {
		return nil, err
	}
	return c.result(obj), nil
}

// All returns all objects by resource, namespace and name, each in the version in which it is
// stored.
func (c *Cluster) All() iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		for _, obj := range c.stored() {
			if !c.shared {
				obj = &unstructured.Unstructured{Object: object.CopyMap(obj.Object)}
			}
			if !yield(obj) {
				return
			}
		}
	}
}

// stored returns the stored objects.
func (c *Cluster) stored() (objs []*unstructured.Unstructured) {
	c.mu.Lock() // not RLock: sorting a table changes it
	defer c.mu.Unlock()
	c.expire()
	var tables []*table
	for _, t := range c.tables {
		if len(t.records) > 0 {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b *table) int { return cmp.Compare(a.name, b.name) })
	for _, t := range tables {
		for _, r := range t.sorted() {
			objs = append(objs, r.object())
		}
	}
	return objs
}

// unpacked returns the object of a record for a reader. It takes the lock for writing, because
// unpacking changes the record.
func (c *Cluster) unpacked(r *record) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.object()
}

func (s *store) find(gvk schema.GroupVersionKind, name types.NamespacedName) (*kind, *record, error) {
	k, err := s.kindOf(gvk)
	if err != nil {
		return nil, nil, err
	}
	r := k.table.records[k.key(name)]
	if r == nil {
		return k, nil, apierrors.NewNotFound(k.groupResource(), name.Name)
	}
	return k, r, nil
}

func (k *kind) key(name types.NamespacedName) types.NamespacedName {
	if k.ClusterScoped {
		name.Namespace = ""
	}
	return name
}

// List returns the objects of a kind that match o's selectors, by namespace and name. An empty
// namespace means all namespaces. A watch from the list's resourceVersion misses no event.
//
// With o.Limit the list comes in pages. All pages show the state at the time of the first page;
// o.Continue requests the next page. The cluster keeps the sixteen latest lists. A request for a
// page of an older list is Expired (410).
//
// o.ResourceVersion and o.ResourceVersionMatch mean what they mean for kube-apiserver. A list that
// has to be exactly of an earlier version is Expired (410) if the events since the version are no
// longer kept, see [Options.History]. A version that the cluster does not have yet is a Timeout
// (504).
//
// List matches selectors without the cluster's lock, and gives up when ctx ends. Selectors that
// need more than 200 million comparisons are refused (413).
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c.expireBeforeRead(gvk)
	k, p, err := c.page(ctx, gvk, namespace, o)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: p.header(k), Items: make([]unstructured.Unstructured, len(p.objects))}
	for i, obj := range p.objects {
		list.Items[i] = *c.result(obj)
	}
	return list, nil
}
