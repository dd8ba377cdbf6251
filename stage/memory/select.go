package memory

import (
	"cmp"
	"context"
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
	operators "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
)

// selection says which objects of a kind a list or watch returns.
type selection struct {
	namespace string
	labels    labels.Selector // nil selects everything
	fields    []term
	steps     int // the most comparisons of one object
}

// maxSteps is the largest number of comparisons that one list, or the start of one watch, does: the
// terms and values of the selectors, times the objects.
const maxSteps = 200_000_000

// fewSteps is the number of comparisons of one object up to which they are done under the lock.
const fewSteps = 64

// term is one condition of a field selector.
type term struct {
	path  []string
	value string
	not   bool
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
		requirements, _ := parsed.Requirements()
		for i := range requirements {
			s.steps += 1 + requirements[i].Values().Len()
		}
	}
	if o.FieldSelector == "" {
		return s, nil
	}
	parsed, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse field selector %q: %v", o.FieldSelector, err))
	}
	s.fields, err = k.terms(parsed)
	s.steps += len(s.fields)
	return s, err
}

// terms reads a field selector. It refuses fields that the kind does not support.
func (k *kind) terms(s fields.Selector) (terms []term, err error) {
	for _, r := range s.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" && !slices.Contains(k.Fields, r.Field) {
			return nil, k.unknownField(r.Field)
		}
		path := strings.Split(cmp.Or(aliases[r.Field], r.Field), ".")
		terms = append(terms, term{path, r.Value, r.Operator == operators.NotEquals})
	}
	return terms, nil
}

// unknownField is the error for a field that selectors of the kind do not support. Its text is the
// same as an API server's, which has a special text for built-in kinds without extra fields.
func (k *kind) unknownField(name string) error {
	if k.builtin && len(k.Fields) == 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", name))
}

// aliases are the fields of selectors that have another path in the object.
var aliases = map[string]string{"name": "metadata.name", "source": "source.component"}

// all returns the objects of a table in the namespace of the selection, and on its node.
func (s selection) all(t *table) []*unstructured.Unstructured {
	var records []*record
	if node := s.node(); node != "" && t.resource == pods && len(t.records) > fewPods {
		records = t.onNode(node, s.namespace)
	} else {
		records = t.within(s.namespace)
	}
	objs := make([]*unstructured.Unstructured, len(records))
	for i, r := range records {
		objs[i] = r.object()
	}
	return objs
}

// of returns the objects that match, in place. It needs no lock. It gives up when ctx ends.
func (s selection) of(ctx context.Context, objs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if !s.selects() {
		return objs, nil
	}
	if s.steps > maxSteps/max(len(objs), 1) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the selectors have %d terms and values, for %d objects: the limit is %d comparisons", s.steps, len(objs), maxSteps))
	}
	found := objs[:0]
	for i, obj := range objs {
		if i%256 == 0 {
			if err := given(ctx); err != nil {
				return nil, err
			}
		}
		if s.matches(obj) {
			found = append(found, obj)
		}
	}
	clear(objs[len(found):])
	return found, nil
}

// selects reports whether the selection has selectors.
func (s selection) selects() bool { return s.labels != nil || len(s.fields) > 0 }

func (s selection) matches(obj *unstructured.Unstructured) bool {
	if s.labels != nil {
		set, _ := object.Map(obj.Object, "metadata", "labels")
		if !s.labels.Matches(labelSet(set)) {
			return false
		}
	}
	for _, t := range s.fields {
		if (fieldText(obj.Object, t.path) == t.value) == t.not {
			return false
		}
	}
	return true
}

// event turns a change of the table into an event of the selection. An object that begins to match
// is ADDED. An object that no longer matches is DELETED, with the last state that matched.
func (s selection) event(e event) (watch.Event, bool) {
	if !s.isIn(e.obj) {
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

func (s selection) isIn(obj *unstructured.Unstructured) bool {
	if s.namespace == "" {
		return true
	}
	namespace, _ := object.String(obj.Object, "metadata", "namespace")
	return s.namespace == namespace
}

// lastMatch returns the last state that matched, with the resourceVersion of the change.
func lastMatch(e event) *unstructured.Unstructured {
	obj := maps.Clone(e.old.Object)
	metadata := maps.Clone(metadataOf(obj))
	metadata["resourceVersion"] = e.obj.GetResourceVersion()
	obj["metadata"] = metadata
	return &unstructured.Unstructured{Object: obj}
}

// labelSet reads labels without copying them. It is a [labels.Labels].
type labelSet map[string]any

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }

// fieldText is the text that the API server compares with a field selector: "", false or 0 for a
// missing field.
func fieldText(obj map[string]any, path []string) string {
	switch v, _ := object.Get(obj, path...); v := v.(type) {
	case string:
		return v
	case nil:
		return absent[path[len(path)-1]]
	default:
		return fmt.Sprint(v)
	}
}

// absent has the texts of missing fields that are not strings.
var absent = map[string]string{"unschedulable": "false", "hostNetwork": "false", "replicas": "0", "successful": "0"}
