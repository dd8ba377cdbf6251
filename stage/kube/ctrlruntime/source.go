package ctrlruntime

import (
	"context"
	"errors"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// direct lists and watches with a client.
type direct struct{ client client.Client }

func (d direct) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s, err := newSelection(o)
	if err != nil {
		return nil, err
	}
	list := listOf(gvk)
	err = d.client.List(ctx, list, s.options(namespace, o))
	if s.fields != nil && unanswered(err) { // a fake client refuses to select by fields without an index
		all := s
		all.fields, o.FieldSelector = nil, ""
		list = listOf(gvk)
		err = d.client.List(ctx, list, all.options(namespace, o))
		list.Items = s.of(list.Items)
	}
	if err != nil {
		return nil, known(gvk, err)
	}
	return list, nil
}

// unanswered reports whether an error did not come from an API server.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return err != nil && !errors.As(err, &status)
}

func (d direct) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	w, ok := d.client.(client.WithWatch)
	if !ok {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "watch")
	}
	s, err := newSelection(o)
	if err != nil {
		return nil, err
	}
	changes, err := w.Watch(ctx, listOf(gvk), s.options(namespace, o))
	if err != nil {
		return nil, known(gvk, err)
	}
	return sift(changes, func(e watch.Event) (watch.Event, bool) { return s.filter(e, gvk) }), nil
}

// A sieve filters a watch, as watch.Filter does. When it is stopped, its goroutine ends even if the
// pending event has no reader.
type sieve struct {
	source  watch.Interface
	filter  func(watch.Event) (watch.Event, bool)
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func sift(source watch.Interface, filter func(watch.Event) (watch.Event, bool)) *sieve {
	s := &sieve{source: source, filter: filter, events: make(chan watch.Event), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	go s.run()
	return s
}

func (s *sieve) run() {
	defer close(s.events)
	for e := range s.source.ResultChan() {
		e, ok := s.filter(e)
		if !ok {
			continue
		}
		select {
		case s.events <- e:
		case <-s.stopped:
			return
		}
	}
}

// ResultChan implements [watch.Interface].
func (s *sieve) ResultChan() <-chan watch.Event { return s.events }

// Stop implements [watch.Interface].
func (s *sieve) Stop() {
	s.stop()
	s.source.Stop()
}

// filter does what an API server does and fake clients do not: it selects objects, and turns Go
// types into fields. If an object is not selected now, it may have been before.
func (s selection) filter(e watch.Event, gvk schema.GroupVersionKind) (watch.Event, bool) {
	if e.Type == watch.Bookmark || e.Type == watch.Error {
		return e, true
	}
	obj, err := untyped(e.Object, gvk)
	if err != nil {
		return watch.Event{Type: watch.Error, Object: &apierrors.NewInternalError(err).ErrStatus}, true
	}
	e.Object = obj
	switch {
	case s.has(obj):
		return e, true
	case e.Type == watch.Modified:
		e.Type = watch.Deleted
		return e, true
	}
	return e, false
}

// options returns the options of a list or watch for a client that supports them.
func (s selection) options(namespace string, o metav1.ListOptions) *client.ListOptions {
	return &client.ListOptions{Namespace: namespace, LabelSelector: s.labels, FieldSelector: s.fields, Limit: o.Limit, Continue: o.Continue, Raw: &o}
}

// untyped returns an object as maps.
func untyped(obj runtime.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

func listOf(gvk schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

// A selection is what a list or a watch is about. Nil selectors select all.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func newSelection(o metav1.ListOptions) (s selection, err error) {
	if o.LabelSelector != "" {
		if s.labels, err = labels.Parse(o.LabelSelector); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
	}
	if o.FieldSelector != "" {
		if s.fields, err = fields.ParseSelector(o.FieldSelector); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
	}
	return s, nil
}

// of returns the selected items.
func (s selection) of(items []unstructured.Unstructured) []unstructured.Unstructured {
	var some []unstructured.Unstructured
	for _, item := range items {
		if s.has(&item) {
			some = append(some, item)
		}
	}
	return some
}

func (s selection) has(obj *unstructured.Unstructured) bool {
	return (s.namespace == "" || s.namespace == obj.GetNamespace()) &&
		(s.labels == nil || s.labels.Matches(labels.Set(obj.GetLabels()))) &&
		(s.fields == nil || s.fields.Matches(fieldsOf{obj}))
}

// fieldsOf reads fields by their paths. A missing field is "", as for an API server.
type fieldsOf struct{ obj *unstructured.Unstructured }

func (f fieldsOf) Get(path string) string {
	value, _, _ := unstructured.NestedString(f.obj.Object, strings.Split(path, ".")...)
	return value
}

func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }
