package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options of [New].
type Options struct {
	// Drop is what is left out of objects.
	Drop Fields
	// Share gives objects the parts in common that are equal: they must not be changed.
	Share bool
	// Shapes are of the kinds that are read from protobuf. Nil: none.
	Shapes *Shapes
}

// Fields are fields of objects: those that map to nil, and of the others the fields within.
type Fields map[string]Fields

// New returns a serializer like the one of the dynamic client, which it is given, that reads JSON faster, and protobuf too. What it
// writes is the same, and so is what it reads of other media types.
func New(base runtime.NegotiatedSerializer, o Options) runtime.NegotiatedSerializer {
	s := &serializers{NegotiatedSerializer: base}
	typed := typedKinds()
	for _, t := range base.SupportedMediaTypes() {
		if t.MediaType == runtime.ContentTypeJSON {
			t = faster(t, newReaders(o), names(typed))
		}
		s.types = append(s.types, t)
	}
	if o.Shapes != nil {
		s.types = append(s.types, binary(o, typed))
	}
	return s
}

type serializers struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func (s *serializers) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

// typedKinds are the kinds that the dynamic client reads into Go types of their own, such as Status.
func typedKinds() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

// names are the kinds of a scheme, whatever their group.
func names(scheme *runtime.Scheme) map[string]bool {
	kinds := map[string]bool{}
	for kind := range scheme.AllKnownTypes() {
		kinds[kind.Kind] = true
	}
	return kinds
}

// faster replaces what reads JSON.
func faster(t runtime.SerializerInfo, readers *readers, typed map[string]bool) runtime.SerializerInfo {
	t.Serializer = objects{t.Serializer, readers, typed}
	if t.StreamSerializer != nil {
		stream := *t.StreamSerializer
		stream.Serializer = events{stream.Serializer}
		stream.Framer = framer{stream.Framer}
		t.StreamSerializer = &stream
	}
	return t
}

// objects reads objects and lists.
type objects struct {
	runtime.Serializer
	readers *readers
	typed   map[string]bool
}

// Decode is that of the serializer it stands in for.
func (o objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	var obj runtime.Object
	switch into := into.(type) {
	case nil:
		obj = o.object(data, nil)
	case *unstructured.Unstructured:
		obj = o.object(data, into)
	case *unstructured.UnstructuredList:
		obj = o.list(data, into)
	}
	if obj == nil {
		return o.Serializer.Decode(data, defaults, into)
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	return obj, &kind, nil
}

// object reads one object, into a new one if it is given none. It returns nil for what it leaves to others: texts with faults, and what has a Go type.
func (o objects) object(data []byte, into *unstructured.Unstructured) runtime.Object {
	m, ok := o.readers.read(data)
	kind, _ := m["kind"].(string)
	version, _ := m["apiVersion"].(string)
	if !ok || kind == "" {
		return nil
	}
	if into == nil {
		if version == "" || o.typed[kind] {
			return nil
		}
		into = &unstructured.Unstructured{}
	}
	into.Object = m
	return into
}

// list reads a list. Items that do not say what they are get it from the list, as it is with the items of built-in kinds.
func (o objects) list(data []byte, into *unstructured.UnstructuredList) runtime.Object {
	m, ok := o.readers.readList(data)
	if kind, _ := m["kind"].(string); !ok || kind == "" || !takeItems(into, m) {
		return nil
	}
	return into
}

// takeItems makes a list of its fields. It is false if they are none of a list.
func takeItems(into *unstructured.UnstructuredList, fields map[string]any) bool {
	items, ok := fields["items"].([]any)
	if !ok {
		return false
	}
	list := unstructured.UnstructuredList{Object: fields, Items: make([]unstructured.Unstructured, len(items))}
	for i, item := range items {
		if list.Items[i].Object, ok = item.(map[string]any); !ok {
			return false
		}
		inherit(&list.Items[i], &list)
	}
	delete(fields, "items")
	*into = list
	return true
}

func inherit(item *unstructured.Unstructured, list *unstructured.UnstructuredList) {
	if item.GetKind() == "" && item.GetAPIVersion() == "" {
		kind := list.GetKind()
		if n := len(kind) - len("List"); n >= 0 && kind[n:] == "List" {
			kind = kind[:n]
		}
		item.SetKind(kind)
		item.SetAPIVersion(list.GetAPIVersion())
	}
}

// events reads the envelopes of a watch. The object within stays the text it is, and belongs to the buffer that it was read from.
type events struct{ runtime.Serializer }

// Decode is that of the serializer it stands in for.
func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	found, ok := into.(*metav1.WatchEvent)
	if !ok {
		return e.Serializer.Decode(data, defaults, into)
	}
	typ, object, ok := event(data)
	if !ok {
		return e.Serializer.Decode(data, defaults, into)
	}
	found.Type, found.Object.Raw = typ, object
	return found, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
}
