package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	component   = "stagecraft" // whose Events are counted
	noteLimit   = 1024         // the most bytes that the events API accepts
	reasonLimit = 128
)

var (
	coreEvents = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	newEvents  = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
	eventsAt   = schema.GroupResource{Group: newEvents.Group, Resource: "events"}
)

// An occurrence is one event in the life of an object, which an Event reports.
type occurrence struct {
	eventKey
	event     types.NamespacedName // the name of the Event if this occurrence starts a new one
	regarding map[string]any
	seen      time.Time
}

// eventKey is the common part of the occurrences that one Event counts.
type eventKey struct {
	namespace, apiVersion, kind, name, uid string // of the object that the Event regards
	typ, reason, note                      string
}

// occurrence reads an Event of stagecraft. It returns false for other objects, for Events that the
// events API refuses, and if the server does not have that API.
func (c *Cluster) occurrence(ctx context.Context, obj *unstructured.Unstructured) (occurrence, bool) {
	if obj.GroupVersionKind() != coreEvents || text(obj.Object, "reportingComponent") != component {
		return occurrence{}, false
	}
	regarding, _ := obj.Object["involvedObject"].(map[string]any)
	seen, err := time.Parse(time.RFC3339, text(obj.Object, "lastTimestamp"))
	e := occurrence{
		event:     types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
		regarding: regarding,
		seen:      seen,
		eventKey: eventKey{
			namespace: text(regarding, "namespace"), apiVersion: text(regarding, "apiVersion"), kind: text(regarding, "kind"),
			name: text(regarding, "name"), uid: text(regarding, "uid"), typ: text(obj.Object, "type"),
			reason: cut(text(obj.Object, "reason"), reasonLimit), note: cut(text(obj.Object, "message"), noteLimit),
		},
	}
	if err != nil || e.reason == "" || e.event.Name == "" {
		return occurrence{}, false
	}
	_, err = c.kinds.find(ctx, newEvents)
	return e, err == nil
}

func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}

// cut shortens a text to the length that the API accepts.
func cut(s string, limit int) string {
	const dots = "..."
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(dots)], "") + dots
}

// record creates an Event, or increments the count of the Event that reports the same.
func (c *Cluster) record(ctx context.Context, e occurrence, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	at, count := c.events.next(e)
	if count == 0 {
		return nil, apierrors.NewAlreadyExists(eventsAt, e.event.Name)
	}
	if count > 1 {
		obj, err := c.count(ctx, e, at, count, o)
		if !apierrors.IsNotFound(err) {
			return obj, c.events.settle(e, err)
		}
		c.events.restart(e) // it has expired
	}
	obj, err := c.create(ctx, e.object(), o)
	return obj, c.events.settle(e, err)
}

// count writes how often the Event has occurred. It writes the number, not an increment, so that
// the request can be sent twice.
func (c *Cluster) count(ctx context.Context, e occurrence, at types.NamespacedName, count int64, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	patch := fmt.Sprintf(`{"series": {"count": %d, "lastObservedTime": %q}}`, count, micro(e.seen))
	return c.Patch(ctx, newEvents, at, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: o.FieldManager, DryRun: o.DryRun})
}

// object is the Event of the first occurrence.
func (e occurrence) object() *unstructured.Unstructured {
	apiVersion, kind := newEvents.ToAPIVersionAndKind()
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion":          apiVersion,
		"kind":                kind,
		"metadata":            map[string]any{"name": e.event.Name, "namespace": e.event.Namespace},
		"regarding":           e.regarding,
		"type":                e.typ,
		"reason":              e.reason,
		"note":                e.note,
		"action":              "Play",
		"eventTime":           micro(e.seen),
		"reportingController": component,
		"reportingInstance":   component,
	}}
}

func micro(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }
