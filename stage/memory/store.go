package memory

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// store is the state that all handles of one cluster share. Callers of its methods hold mu.
type store struct {
	options Options

	mu         sync.RWMutex
	version    uint64 // resourceVersion of the last write
	kinds      map[schema.GroupVersionKind]*kind
	tables     map[schema.GroupResource]*table
	contents   map[string]int                     // objects by namespace
	dependents map[types.UID]map[*record]struct{} // by owner
	absent     map[types.UID]struct{}             // removed owners that dependents still refer to
	blocking   map[types.UID]map[*record]struct{} // by owner whose dependents were examined: the dependents that block its deletion; nil in a fork, which examines them again
	garbage    []collection                       // the next objects for the garbage collector, in order
	emptied    []string                           // namespaces whose last object was removed
	dropped    []*record                          // removed by the write that goes on
	terminated map[*record]struct{}               // terminating namespaces that still contain objects
	generated  tallies[string]                    // names generated, by prefix
	expiries   expiries                           // of Events
	pages      pages                              // lists that are read page by page
	interner   *interner                          // the parts that objects share
	idle       []*request                         // to be used again
	history    int                                // known bytes of the events of all tables
	stamp      any                                // the timestamp that was computed last, for the time stamped
	stamped    time.Time
	hooks      []Hooks // in the order in which they were added
	removal    Review  // of the object that was removed last
	tracks     bool    // objects have managedFields from their creation on
}

func newStore(o Options) *store {
	s := &store{
		options:    o,
		version:    1,
		kinds:      map[schema.GroupVersionKind]*kind{},
		tables:     map[schema.GroupResource]*table{},
		contents:   map[string]int{},
		dependents: map[types.UID]map[*record]struct{}{},
		absent:     map[types.UID]struct{}{},
		terminated: map[*record]struct{}{},
		interner:   newInterner(),
	}
	s.addBuiltins()
	for _, k := range o.Kinds {
		s.addCustom(k, nil, form{})
	}
	return s
}

func (s *store) now() time.Time { return s.options.Now().UTC().Truncate(time.Second) }

func (s *store) timestamp(after time.Duration) string { return s.now().Add(after).Format(time.RFC3339) }

// currentTimestamp returns the present timestamp as a value that many objects share.
func (s *store) currentTimestamp() any {
	if now := s.now(); s.stamp == nil || !now.Equal(s.stamped) {
		s.stamped, s.stamp = now, s.timestamp(0)
	}
	return s.stamp
}

// record has one object. A stored object never changes; a write puts a new object into the slot.
type record struct {
	kind *kind
	key  types.NamespacedName
	slot slot // empty after the write that removes the object
	gone bool

	bytes    int  // of the object; 0: not known
	examined bool // the garbage collector is going to look at it
}

// object returns the stored object.
func (r *record) object() *unstructured.Unstructured { return r.slot.get() }

// table has the objects of one resource.
type table struct {
	resource     schema.GroupResource
	name         string                           // of the resource
	records      map[types.NamespacedName]*record // nil until there is one, since most forks have few
	order        []*record                        // sorted by key; it may contain records whose objects are removed
	added        []*record                        // not yet in order
	dropped      int                              // the number of records in order whose objects are removed
	incarnations tallies[types.NamespacedName]    // the number of removed objects of each key
	log          log
	byNode       nodeIndex
	packer       *packer // nil until an object is packed
	packFrom     int     // the number of records above which idle objects are packed
	bytes        int     // of the objects, as far as they are known

	apiVersion string // the group that all its kinds have; "" if there are several
}

func newTable(at schema.GroupResource, o Options) *table {
	return &table{resource: at, name: at.String(), log: log{keep: o.History, version: 1}, packFrom: o.packFrom}
}

// sorted returns the records by namespace and name. The list must not be changed, and
// is valid until mu is released.
func (t *table) sorted() []*record {
	if len(t.added) == 0 && t.dropped == 0 {
		return t.order
	}
	slices.SortFunc(t.added, byKey)
	merged := make([]*record, 0, len(t.records))
	i, j := 0, 0
	for i < len(t.order) || j < len(t.added) {
		var r *record
		if j == len(t.added) || i < len(t.order) && byKey(t.order[i], t.added[j]) <= 0 {
			r, i = t.order[i], i+1
		} else {
			r, j = t.added[j], j+1
		}
		if !r.gone {
			merged = append(merged, r)
		}
	}
	t.order, t.added, t.dropped = merged, nil, 0
	return merged
}

// dropGone drops the records of removed objects if there are many, because a table without lists
// does not drop them otherwise. It does not change a list that sorted has returned.
func (t *table) dropGone() {
	if t.dropped++; t.dropped < 1024+len(t.records) {
		return
	}
	t.order, t.added, t.dropped = present(t.order), present(t.added), 0
}

func present(records []*record) []*record {
	var kept []*record
	for _, r := range records {
		if !r.gone {
			kept = append(kept, r)
		}
	}
	return kept
}

func byKey(a, b *record) int {
	return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
}

// within returns the records of a namespace, or all if it is "".
func (t *table) within(namespace string) []*record {
	all := t.sorted()
	if namespace == "" {
		return all
	}
	from, _ := slices.BinarySearchFunc(all, namespace, func(r *record, ns string) int { return cmp.Compare(r.key.Namespace, ns) })
	to := from
	for to < len(all) && all[to].key.Namespace == namespace {
		to++
	}
	return all[from:to]
}

// insert stores a new object. The caller must not change its root and metadata afterwards.
func (s *store) insert(k *kind, key types.NamespacedName, obj map[string]any, bytes int) *record {
	r := &record{kind: k, key: key}
	if k.table.records == nil {
		k.table.records = map[types.NamespacedName]*record{}
	}
	k.table.records[key] = r
	k.table.added = append(k.table.added, r)
	if key.Namespace != "" {
		s.contents[key.Namespace]++
	}
	s.putWeighed(r, obj, bytes)
	return r
}

// put stores the next version of an object. The caller must not change its root and metadata
// afterwards.
func (s *store) put(r *record, obj map[string]any) { s.putWeighed(r, obj, r.bytes) }

// putWeighed is put for an object whose size is known, or 0.
func (s *store) putWeighed(r *record, obj map[string]any, bytes int) {
	r.kind.table.bytes += bytes - r.bytes
	r.bytes = bytes
	old, next := r.object(), &unstructured.Unstructured{Object: obj}
	s.step(metadataOf(obj))
	r.slot.set(next)
	if r.kind.table.byNode != nil {
		r.kind.table.byNode.move(r, nodeOf(old), nodeOf(next))
	}
	s.reindex(r, old)
	typ := watch.Modified
	if old == nil {
		typ = watch.Added
	} else {
		s.examineDeleted(r, old, obj)
	}
	s.note(event{version: s.version, typ: typ, record: r, obj: next, old: old, bytes: bytes})
	if r.kind.table.resource == definitions {
		s.define(next)
	}
	if hasTTL(r.kind.table.resource) {
		s.expiries.keep(r, s.now())
	}
}

// step sets the next resourceVersion on an object.
func (s *store) step(metadata map[string]any) {
	s.version++
	delete(metadata, "resourceVersion") // a map of eight grows when one of them is set: the metadata of most Pods
	metadata["resourceVersion"] = strconv.FormatUint(s.version, 10)
}

// note adds an event to the log of its table. If the known bytes of all logs are too many, it
// shortens the largest logs.
func (s *store) note(e event) {
	t := e.record.kind.table
	before := t.log.bytes
	t.note(e)
	s.wake(&t.log)
	s.history += t.log.bytes - before
	for s.history > maxHistory {
		largest := &s.largest().log
		before := largest.bytes
		if largest.dropBytes(); largest.bytes == before {
			return // a Feed needs them
		}
		s.history += largest.bytes - before
	}
}

// largest returns the table with the most bytes of events.
func (s *store) largest() (largest *table) {
	for _, t := range s.tables {
		if largest == nil || t.log.bytes > largest.log.bytes || t.log.bytes == largest.log.bytes && t.name < largest.name {
			largest = t
		}
	}
	return largest
}

// note adds an event to the log. If the resource has very many objects, note packs the objects of
// the events that the log drops, unless a later event is about the object.
func (t *table) note(e event) {
	forgotten := t.log.append(e)
	if len(t.records) < t.packFrom {
		return
	}
	for _, f := range forgotten {
		if obj, _ := f.record.slot.peek(); obj == f.obj && !f.record.gone {
			if t.packer == nil {
				t.packer = newPacker()
			}
			f.record.slot.pack(t.packer)
		}
	}
}

// drop removes an object from its table. The garbage collector handles its dependents.
func (s *store) drop(r *record) {
	if r.gone {
		return
	}
	t, last := r.kind.table, r.object()
	r.gone = true
	s.dropped = append(s.dropped, r)
	t.bytes -= r.bytes
	delete(t.records, r.key)
	delete(s.terminated, r)
	delete(s.expiries.last, r)
	t.incarnations.add(r.key)
	t.byNode.move(r, nodeOf(last), "")
	t.dropGone()
	if r.key.Namespace != "" {
		s.leave(r.key.Namespace)
	}
	obj := fork(last.Object)
	s.step(metadataOf(obj))
	r.slot.set(nil)
	s.reindex(r, last)
	final := &unstructured.Unstructured{Object: obj}
	r.slot.set(final)
	s.note(event{version: s.version, typ: watch.Deleted, record: r, obj: final, old: last, bytes: r.bytes})
	s.disown(final.GetUID())
	if len(s.terminated) > 0 && t.resource == pods {
		s.goOnEmptying(r.key.Namespace)
	}
	if t.resource == definitions {
		s.undefine(obj)
	}
	s.removed(r, final)
}

// leave subtracts a removed object from the count of its namespace.
func (s *store) leave(namespace string) {
	if s.contents[namespace]--; s.contents[namespace] == 0 {
		delete(s.contents, namespace)
		s.emptied = append(s.emptied, namespace)
	}
}

// disown makes the garbage collector look at the dependents of a removed object.
func (s *store) disown(owner types.UID) {
	if len(s.dependents[owner]) > 0 {
		s.absent[owner] = struct{}{}
		s.examineDependents(owner)
	}
}

// fork copies the root and the metadata of an object and shares the rest.
func fork(obj map[string]any) map[string]any {
	root := maps.Clone(obj)
	metadata, _ := object.Map(obj, "metadata")
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	root["metadata"] = metadata
	dropEmpty(metadata)
	return root
}

// dropEmpty removes empty lists and maps from the metadata, as the API server does. A Stage that
// waits until an object has no finalizers must not see an empty list.
func dropEmpty(metadata map[string]any) {
	for _, field := range [...]string{"labels", "annotations", "finalizers", "ownerReferences"} {
		switch v := metadata[field].(type) {
		case map[string]any:
			if len(v) == 0 {
				delete(metadata, field)
			}
		case []any:
			if len(v) == 0 {
				delete(metadata, field)
			}
		}
	}
}

// metadataOf returns the metadata of an object that fork or admit has returned: such an object has
// metadata.
func metadataOf(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}
