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
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A member is a cluster as the hub knows it: what was placed there, and what it reported.
type member struct {
	name     string
	cluster  *memory.Cluster // shares its objects
	latency  time.Duration
	silent   bool
	placed   map[staged.ObjectRef]placement
	order    []staged.ObjectRef                  // of placed; nil: that has changed
	sent     map[staged.ObjectRef]map[string]any // the last status on its way to the hub, or there
	mail     []letter                            // on its way, in order of time
	reported map[staged.ObjectRef]kubestellar.Report
	first    time.Time // when it reported first; zero: not yet
	waits    bool      // something could not be placed yet
}

// A placement is an object that was placed.
type placement struct {
	kind schema.GroupVersionKind
	from *unstructured.Unstructured // on the hub
	at   time.Time                  // when this version of it was placed
}

// A bound is an object that Bindings send to a cluster.
type bound struct {
	object     *unstructured.Unstructured
	createOnly bool
}

// A letter is a status on its way to the hub.
type letter struct {
	due    time.Time
	ref    staged.ObjectRef
	status map[string]any
}

func newMember(name string, cluster *memory.Cluster, latency time.Duration) *member {
	return &member{
		name: name, cluster: cluster.Shared(), latency: latency, placed: map[staged.ObjectRef]placement{},
		sent: map[staged.ObjectRef]map[string]any{}, reported: map[staged.ObjectRef]kubestellar.Report{},
	}
}

// sorted puts first what others need: definitions and namespaces.
func sorted[V any](m map[staged.ObjectRef]V) []staged.ObjectRef {
	rank := map[string]int{"customresourcedefinitions": -2, "namespaces": -1}
	return slices.SortedFunc(maps.Keys(m), func(a, b staged.ObjectRef) int {
		return cmp.Or(rank[a.Resource]-rank[b.Resource], cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// refs are the objects that were placed, sorted. It is asked at each thing that happens.
func (m *member) refs() []staged.ObjectRef {
	if m.order == nil {
		m.order = sorted(m.placed)
	}
	return m.order
}

// place creates or updates the objects that are wanted here and deletes the others. It says what it did with each, and reports whether it did anything. The
// error joins those of single objects.
func (m *member) place(ctx context.Context, wanted map[staged.ObjectRef]bound, now time.Time, say func(string)) (changed bool, faults error) {
	m.waits = false
	did := func(ref staged.ObjectRef, what string, err error) {
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

// apply brings one object up to date, if that is possible now. It returns what it did.
func (m *member) apply(ctx context.Context, ref staged.ObjectRef, w bound, now time.Time) (what string, err error) {
	was, here := m.placed[ref]
	if here && (w.createOnly || was.from == w.object || reflect.DeepEqual(downsynced(was.from), downsynced(w.object))) {
		return "", nil
	}
	done, err := m.write(ctx, w)
	if err != nil || !done {
		m.waits = true
		return "", err
	}
	m.placed[ref] = placement{kind: w.object.GroupVersionKind(), from: w.object, at: now}
	m.order = nil
	if here {
		return textChanged, nil
	}
	return textArrives, nil
}

// write creates or updates an object. It is false if one of the same name is still being deleted, or its namespace.
func (m *member) write(ctx context.Context, w bound) (done bool, err error) {
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

// over is an object as it comes over the one that is there: with its status, and with what the API server knows of it.
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

// downsynced is what of an object goes to another cluster: all but its status and what an API server adds.
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

func (m *member) remove(ctx context.Context, ref staged.ObjectRef) error {
	err := m.cluster.Delete(ctx, m.placed[ref].kind, nameOf(ref), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(m.placed, ref)
	m.order = nil
	delete(m.sent, ref)
	delete(m.reported, ref)
	m.mail = slices.DeleteFunc(m.mail, func(l letter) bool { return l.ref == ref })
	return nil
}

func nameOf(ref staged.ObjectRef) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// post sends the statuses that have changed on their way.
func (m *member) post(ctx context.Context, now time.Time) error {
	for _, ref := range m.refs() {
		obj, err := m.cluster.Get(ctx, m.placed[ref].kind, nameOf(ref))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cluster %s: %w", m.name, err)
		}
		status, has := object.Map(obj.Object, "status")
		if has && !m.silent && !reflect.DeepEqual(status, m.sent[ref]) {
			m.sent[ref] = status
			m.mail = append(m.mail, letter{now.Add(m.latency), ref, status})
		}
	}
	return nil
}

// deliver brings to the hub what is due, and returns of which objects that is.
func (m *member) deliver(now time.Time) (heard []staged.ObjectRef) {
	for len(m.mail) > 0 && !m.mail[0].due.After(now) {
		l := m.mail[0]
		m.mail = m.mail[1:]
		if m.first.IsZero() {
			m.first = now
		}
		m.reported[l.ref] = kubestellar.Report{Status: l.status, LastUpdate: now}
		heard = append(heard, l.ref)
	}
	return heard
}
