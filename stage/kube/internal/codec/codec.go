package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options of [New]. The zero value reads whole objects, from JSON only.
type Options struct {
	// Drop are the fields that objects are read without.
	Drop Fields
	// Share makes objects share equal parts, so that they must not be changed.
	Share bool
	// Schemas are the schemas of the kinds that are read from protobuf. Nil: all kinds are read
	// from JSON.
	Schemas *Schemas
}

// Fields are a tree of field names: a name that maps to nil stands for the whole field, another one
// for the given fields within it.
type Fields map[string]Fields

// New returns the serializer of a dynamic client, base, with other readers of JSON, and one of
// protobuf if there are Schemas. It encodes as base does.
func New(base runtime.NegotiatedSerializer, o Options) runtime.NegotiatedSerializer {
	s := &serializers{NegotiatedSerializer: base}
	typed := typedKinds()
	for _, t := range base.SupportedMediaTypes() {
		if t.MediaType == runtime.ContentTypeJSON {
			t = withJSONReader(t, newJSONReaders(o), names(typed))
		}
		s.types = append(s.types, t)
	}
	if o.Schemas != nil {
		s.types = append(s.types, protobufInfo(o, typed))
	}
	return s
}

type serializers struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func (s *serializers) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

// typedKinds are the kinds that the dynamic client reads into Go types, such as Status.
func typedKinds() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

// names are the names of the kinds of a scheme, of any group.
func names(scheme *runtime.Scheme) map[string]bool {
	kinds := map[string]bool{}
	for kind := range scheme.AllKnownTypes() {
		kinds[kind.Kind] = true
	}
	return kinds
}

// withJSONReader replaces the reader of JSON.
func withJSONReader(t runtime.SerializerInfo, readers *jsonReaders, typed map[string]bool) runtime.SerializerInfo {
	t.Serializer = jsonObjects{t.Serializer, readers, typed}
	if t.StreamSerializer != nil {
		stream := *t.StreamSerializer
		stream.Serializer = jsonEvents{stream.Serializer}
		stream.Framer = framer{stream.Framer}
		t.StreamSerializer = &stream
	}
	return t
}

// jsonObjects reads objects and lists.
type jsonObjects struct {
	runtime.Serializer
	readers *jsonReaders
	typed   map[string]bool
}

// Decode implements runtime.Decoder.
func (o jsonObjects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
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

// object reads one object, into a new object if it gets none. It returns nil if client-go's codec
// has to read the text: if it has faults, or the kind has a Go type.
func (o jsonObjects) object(data []byte, into *unstructured.Unstructured) runtime.Object {
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

// list reads a list. Items without a kind, like those of built-in kinds, get it from the list.
func (o jsonObjects) list(data []byte, into *unstructured.UnstructuredList) runtime.Object {
	m, ok := o.readers.readList(data)
	if kind, _ := m["kind"].(string); !ok || kind == "" || !takeItems(into, m) {
		return nil
	}
	return into
}

// takeItems makes a list of the fields of one. It returns false without items.
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

// jsonEvents reads the envelopes of a watch. It does not read the object of an event: that stays as
// bytes, in the buffer that the event was read from.
type jsonEvents struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (e jsonEvents) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
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
