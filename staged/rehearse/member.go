package rehearse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A member is a cluster as the hub knows it: the objects that were sent there, and what it
// reported.
type member struct {
	name        string
	cluster     *memory.Cluster // shares its objects
	latency     time.Duration
	silent      bool
	had         bool               // it has had the workload from the start, from somewhere else
	revisions   []fleet.RevisionID // that it has had, in order
	lost        map[string]string  // the objects that were there before and that it has lost, and when
	created     map[fleet.ObjectRef]createdObject
	order       []fleet.ObjectRef                  // the keys of placed, sorted; nil: placed has changed
	sent        map[fleet.ObjectRef]map[string]any // the last status that was sent to the hub
	inTransit   []sentStatus                       // the statuses that have not arrived yet, by time
	reported    map[fleet.ObjectRef]kubestellar.Report
	firstReport time.Time // when the first status arrived; zero: no status has arrived
	incomplete  bool      // an object could not be written yet
}

// A createdObject is an object that was created in a member.
type createdObject struct {
	kind schema.GroupVersionKind
	from *unstructured.Unstructured // on the hub
	at   time.Time                  // when this version was written
}

// A wantedObject is an object that Bindings send to a cluster.
type wantedObject struct {
	object     *unstructured.Unstructured
	createOnly bool
}

// A sentStatus is a status that was sent to the hub and has not arrived.
type sentStatus struct {
	due    time.Time
	ref    fleet.ObjectRef
	status map[string]any
}

func newMember(name string, cluster *memory.Cluster, latency time.Duration) *member {
	return &member{
		name: name, cluster: cluster.Shared(), latency: latency, created: map[fleet.ObjectRef]createdObject{},
		sent: map[fleet.ObjectRef]map[string]any{}, reported: map[fleet.ObjectRef]kubestellar.Report{},
	}
}

// sorted returns the keys of m. Definitions and namespaces, which other objects need, come first.
func sorted[V any](m map[fleet.ObjectRef]V) []fleet.ObjectRef {
	rank := map[string]int{"customresourcedefinitions": -2, "namespaces": -1}
	return slices.SortedFunc(maps.Keys(m), func(a, b fleet.ObjectRef) int {
		return cmp.Or(rank[a.Resource]-rank[b.Resource], cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// refs returns the objects that were created here, sorted. They are cached: refs is called often.
func (m *member) refs() []fleet.ObjectRef {
	if m.order == nil {
		m.order = sorted(m.created)
	}
	return m.order
}

// place creates or updates the objects that are wanted here and deletes the others. It calls say
// with what it did to each, and reports whether it did anything. The error joins those of single
// objects.
func (m *member) place(ctx context.Context, wanted map[fleet.ObjectRef]wantedObject, now time.Time, say func(string)) (changed bool, faults error) {
	m.incomplete = false
	did := func(ref fleet.ObjectRef, what string, err error) {
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("cluster %s: %w", m.name, err))
		} else if what != "" {
			changed = true
			say(ref.String() + what)
		}
	}
	for _, ref := range m.refs() {
		if _, stays := wanted[ref]; !stays {
			did(ref, textGone, m.remove(ctx, ref))
		}
	}
	for _, ref := range sorted(wanted) {
		what, err := m.apply(ctx, ref, wanted[ref], now)
		did(ref, what, err)
	}
	return changed, faults
}

// apply brings one object up to date, if that is possible now. It returns the text of what it did;
// "" if it did nothing.
func (m *member) apply(ctx context.Context, ref fleet.ObjectRef, w wantedObject, now time.Time) (what string, err error) {
	was, here := m.created[ref]
	if here && (w.createOnly || was.from == w.object || reflect.DeepEqual(downsynced(was.from), downsynced(w.object))) {
		return "", nil
	}
	done, err := m.write(ctx, w)
	if err != nil || !done {
		m.incomplete = true
		return "", err
	}
	m.created[ref] = createdObject{kind: w.object.GroupVersionKind(), from: w.object, at: now}
	m.order = nil
	if here {
		return textChanged, nil
	}
	return textArrives, nil
}

// write creates or updates an object. It is false if an object of the same name, or the namespace,
// is still being deleted.
func (m *member) write(ctx context.Context, w wantedObject) (done bool, err error) {
	obj := downsynced(w.object)
	old, err := m.cluster.Get(ctx, obj.GroupVersionKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
	switch {
	case apierrors.IsNotFound(err):
		_, err = m.cluster.Create(ctx, obj, metav1.CreateOptions{})
		if apierrors.HasStatusCause(err, "NamespaceTerminating") {
			return false, nil
		}
	case err != nil:
	case old.GetDeletionTimestamp() != nil:
		return false, nil
	case !w.createOnly:
		_, err = m.cluster.Update(ctx, over(old, obj), metav1.UpdateOptions{})
	}
	return err == nil, err
}

// over returns an object as an update of the old one: with the status of the old one, and the
// metadata that the API server added to it.
func over(old, obj *unstructured.Unstructured) *unstructured.Unstructured {
	next := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata := map[string]any{}
	for _, from := range []*unstructured.Unstructured{old, obj} {
		fields, _ := object.Map(from.Object, "metadata")
		maps.Copy(metadata, fields)
	}
	next.Object["metadata"] = metadata
	if status, has := old.Object["status"]; has {
		next.Object["status"] = status
	}
	return next
}

// downsynced returns the part of an object that is sent to another cluster: without its status and
// what an API server adds.
func downsynced(from *unstructured.Unstructured) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: maps.Clone(from.Object)}
	delete(obj.Object, "status")
	metadata := map[string]any{}
	for _, name := range []string{"name", "namespace", "labels", "annotations"} {
		if v, ok := object.Get(from.Object, "metadata", name); ok {
			metadata[name] = v
		}
	}
	obj.Object["metadata"] = metadata
	return obj
}

func (m *member) remove(ctx context.Context, ref fleet.ObjectRef) error {
	err := m.cluster.Delete(ctx, m.created[ref].kind, nameOf(ref), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(m.created, ref)
	m.order = nil
	delete(m.sent, ref)
	delete(m.reported, ref)
	m.inTransit = slices.DeleteFunc(m.inTransit, func(l sentStatus) bool { return l.ref == ref })
	return nil
}

func nameOf(ref fleet.ObjectRef) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// sendStatuses sends the statuses that have changed to the hub.
func (m *member) sendStatuses(ctx context.Context, now time.Time) error {
	for _, ref := range m.refs() {
		obj, err := m.cluster.Get(ctx, m.created[ref].kind, nameOf(ref))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cluster %s: %w", m.name, err)
		}
		status, has := object.Map(obj.Object, "status")
		if has && !m.silent && !reflect.DeepEqual(status, m.sent[ref]) {
			m.sent[ref] = status
			m.inTransit = append(m.inTransit, sentStatus{now.Add(m.latency), ref, status})
		}
	}
	return nil
}

// receiveStatuses receives at the hub the statuses that are due, and returns their objects.
func (m *member) receiveStatuses(now time.Time) (updated []fleet.ObjectRef) {
	for len(m.inTransit) > 0 && !m.inTransit[0].due.After(now) {
		l := m.inTransit[0]
		m.inTransit = m.inTransit[1:]
		if m.firstReport.IsZero() {
			m.firstReport = now
		}
		m.reported[l.ref] = kubestellar.Report{Status: l.status, LastUpdate: now}
		updated = append(updated, l.ref)
	}
	return updated
}
