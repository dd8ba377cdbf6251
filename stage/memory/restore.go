package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Restore returns a new cluster with objects as another cluster had them, a real one or one in
// memory: with their uids, resourceVersions, owners and managedFields. Hooks do not see them, nothing
// is filled in, and the garbage collector waits for the next write. The order of the objects does not
// matter.
//
// The resourceVersion is that of the other cluster; "" means the highest of the objects. Watches can
// begin at it, but not before it. Later objects get other uids and generated names than the other
// cluster would have given. An Event expires an hour after the last time that it names.
//
// Each object needs a name, a uid, a resourceVersion, and a kind that is built in, in o.Kinds, or
// defined by another object. With o.RequireNamespaces it needs its namespace among the objects. The
// error names every object with a fault; then there is no cluster.
func Restore(o Options, resourceVersion string, objs ...*unstructured.Unstructured) (*Cluster, error) {
	c := New(o)
	r := restoration{store: c.store, uids: map[types.UID]bool{}}
	if resourceVersion != "" {
		if err := r.raise(resourceVersion); err != nil {
			r.faults = append(r.faults, err)
		}
	}
	for _, wanted := range [...]bool{true, false} { // definitions first: they define kinds of others
		for _, obj := range objs {
			if isDefinition(obj) == wanted {
				r.add(obj)
			}
		}
	}
	if o.RequireNamespaces {
		r.checkNamespaces()
	}
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	r.index()
	return c, nil
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "CustomResourceDefinition" && strings.HasPrefix(obj.GetAPIVersion(), definitions.Group+"/")
}

// A restoration puts objects into a new store.
type restoration struct {
	*store
	uids    map[types.UID]bool
	records []*record
	faults  []error
}

// raise makes the version of the store at least as high as a given one.
func (r *restoration) raise(resourceVersion string) error {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil || version == 0 {
		return fmt.Errorf("resourceVersion %q is no positive number", resourceVersion)
	}
	r.version = max(r.version, version)
	return nil
}

// add puts an object into its table, or keeps its fault.
func (r *restoration) add(obj *unstructured.Unstructured) {
	k, err := r.kindOf(obj.GroupVersionKind())
	if err != nil {
		r.refuse(obj, fmt.Errorf("%s is no kind of the cluster", obj.GroupVersionKind()))
		return
	}
	root := r.interner.intern(obj.Object, !k.builtin)
	if err = wellFormed(root); err == nil {
		err = r.checkIdentity(k, obj)
	}
	if err != nil {
		r.refuse(obj, err)
		return
	}
	at := &record{kind: k, key: keyOf(obj)}
	at.slot.set(&unstructured.Unstructured{Object: root})
	r.keep(at)
	if k.table.resource == definitions {
		r.define(at.object())
	}
}

func (r *restoration) refuse(obj *unstructured.Unstructured, err error) {
	r.faults = append(r.faults, fmt.Errorf("%s %s: %w", obj.GetKind(), strings.TrimPrefix(keyOf(obj).String(), "/"), err))
}

func keyOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// checkIdentity checks what tells an object from others.
func (r *restoration) checkIdentity(k *kind, obj *unstructured.Unstructured) error {
	switch key := keyOf(obj); {
	case key.Name == "":
		return errors.New("no metadata.name")
	case k.ClusterScoped && key.Namespace != "":
		return errors.New("metadata.namespace is set, but the kind has no namespaces")
	case !k.ClusterScoped && key.Namespace == "":
		return errors.New("no metadata.namespace")
	case obj.GetUID() == "":
		return errors.New("no metadata.uid: it was not read from a cluster")
	case k.table.records[key] != nil:
		return errors.New("there are two with this name")
	case r.uids[obj.GetUID()]:
		return fmt.Errorf("another object has the same uid %s", obj.GetUID())
	}
	r.uids[obj.GetUID()] = true
	return r.raise(obj.GetResourceVersion())
}

func (r *restoration) keep(at *record) {
	t := at.kind.table
	if t.records == nil {
		t.records = map[types.NamespacedName]*record{}
	}
	t.records[at.key] = at
	t.added = append(t.added, at)
	if at.key.Namespace != "" {
		r.contents[at.key.Namespace]++
	}
	r.records = append(r.records, at)
}

func (r *restoration) checkNamespaces() {
	for _, at := range r.records {
		if ns := at.key.Namespace; ns != "" && r.tables[namespaces].records[types.NamespacedName{Name: ns}] == nil {
			r.refuse(at.object(), fmt.Errorf("namespace %s is not among the objects", ns))
		}
	}
}

// index brings the store into the state after the last write of the objects: what depends on what,
// what the garbage collector looks at next, and which Events expire when.
func (r *restoration) index() {
	for _, t := range r.tables {
		t.log.version = r.version
		t.incarnations.forgotten = r.version // higher than any count of the other cluster: its uids do not come again
	}
	r.generated.forgotten = r.version
	slices.SortFunc(r.records, byPlace)
	for _, at := range r.records {
		for _, uid := range ownerUIDs(ownerRefs(at.object())) {
			if r.dependents[uid] == nil {
				r.dependents[uid] = map[*record]struct{}{}
			}
			r.dependents[uid][at] = struct{}{}
		}
	}
	for _, at := range r.records {
		r.collectFor(at)
	}
	r.keepEvents()
}

// collectFor queues what the garbage collector has to do for an object.
func (r *restoration) collectFor(at *record) {
	obj := at.object()
	metadata := metadataOf(obj.Object)
	isDangling := func(ref any) bool { return r.stateOfOwner(at, ref) == dangling }
	switch {
	case waitsFor(metadata, metav1.FinalizerDeleteDependents):
		r.examineDependents(obj.GetUID())
		r.examine(at)
	case waitsFor(metadata, metav1.FinalizerOrphanDependents), slices.ContainsFunc(ownerRefs(obj), isDangling):
		r.examine(at)
	case at.kind.table.resource == namespaces && metadata["deletionTimestamp"] != nil:
		r.terminated[at] = struct{}{}
		r.emptied = append(r.emptied, at.key.Name) // perhaps it is empty
		r.examine(at)
	}
}

// keepEvents makes each Event expire as long after its last write as on the other cluster, as far as
// its times say when that was.
func (r *restoration) keepEvents() {
	type written struct {
		*record
		at time.Time
	}
	var events []written
	for _, at := range r.records {
		if hasTTL(at.kind.table.resource) {
			events = append(events, written{at, lastTime(at.object().Object)})
		}
	}
	slices.SortStableFunc(events, func(a, b written) int { return a.at.Compare(b.at) })
	for _, e := range events {
		r.expiries.keep(e.record, e.at)
	}
}

// lastTime returns the latest time that an Event names.
func lastTime(event map[string]any) (last time.Time) {
	for _, path := range [...][]string{{"metadata", "creationTimestamp"}, {"eventTime"}, {"lastTimestamp"}, {"deprecatedLastTimestamp"}, {"series", "lastObservedTime"}} {
		text, _ := object.String(event, path...)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
