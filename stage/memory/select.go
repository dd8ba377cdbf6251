package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// selection says which objects of a kind a list or watch is about.
type selection struct {
	namespace string
	labels    labels.Selector // nil selects everything
	fields    fields.Selector // nil selects everything
}

func newSelection(k *kind, namespace string, o metav1.ListOptions) (selection, error) {
	s := selection{namespace: namespace}
	if k.ClusterScoped {
		s.namespace = ""
	}
	if o.LabelSelector != "" {
		parsed, err := labels.Parse(o.LabelSelector)
		if err != nil {
			return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse label selector %q: %v", o.LabelSelector, err))
		}
		s.labels = parsed
	}
	if o.FieldSelector == "" {
		return s, nil
	}
	parsed, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse field selector %q: %v", o.FieldSelector, err))
	}
	s.fields = parsed
	return s, k.selectable(parsed)
}

// selectable refuses fields that the kind does not offer.
func (k *kind) selectable(s fields.Selector) error {
	for _, r := range s.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" && !slices.Contains(k.Fields, r.Field) {
			return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	return nil
}

func (s selection) of(t *table) (found []*record) {
	for _, r := range t.within(s.namespace) {
		if s.matches(r.obj) {
			found = append(found, r)
		}
	}
	return found
}

func (s selection) matches(obj *unstructured.Unstructured) bool {
	if s.labels != nil {
		set, _ := object.Map(obj.Object, "metadata", "labels")
		if !s.labels.Matches(labelSet(set)) {
			return false
		}
	}
	return s.fields == nil || s.fields.Matches(fieldSet(obj.Object))
}

// event turns a change of the table into one of the selection: an object that begins
// to match is added, one that ceases to is deleted, as it was while it matched.
func (s selection) event(e event) (watch.Event, bool) {
	namespace, _ := object.String(e.obj.Object, "metadata", "namespace")
	if s.namespace != "" && s.namespace != namespace {
		return watch.Event{}, false
	}
	before := e.old != nil && s.matches(e.old)
	after := e.typ != watch.Deleted && s.matches(e.obj)
	switch {
	case before && after:
		return watch.Event{Type: watch.Modified, Object: e.obj}, true
	case after:
		return watch.Event{Type: watch.Added, Object: e.obj}, true
	case before && e.typ == watch.Deleted:
		return watch.Event{Type: watch.Deleted, Object: e.obj}, true
	case before:
		return watch.Event{Type: watch.Deleted, Object: lastMatch(e)}, true
	}
	return watch.Event{}, false
}

// lastMatch is the object as it was, with the version of the change.
func lastMatch(e event) *unstructured.Unstructured {
	obj := maps.Clone(e.old.Object)
	metadata := maps.Clone(metadataOf(obj))
	metadata["resourceVersion"] = e.obj.GetResourceVersion()
	obj["metadata"] = metadata
	return &unstructured.Unstructured{Object: obj}
}

// labelSet reads labels without a copy. It is a [labels.Labels].
type labelSet map[string]any

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }

// fieldSet reads fields of an object by path. It is a [fields.Fields].
type fieldSet map[string]any

func (f fieldSet) Has(path string) bool { return true }

// Get returns what the API server compares: false and 0 stand for absent values.
func (f fieldSet) Get(path string) string {
	if path == "name" {
		path = "metadata.name"
	}
	v, ok := object.Get(f, strings.Split(path, ".")...)
	if !ok || v == nil {
		return absent[path]
	}
	if m, ok := v.(map[string]any); ok { // source of an Event is its component
		v = m["component"]
	}
	return fmt.Sprint(v)
}

var absent = map[string]string{
	"spec.unschedulable": "false",
	"spec.hostNetwork":   "false",
	"status.replicas":    "0",
	"status.successful":  "0",
}
