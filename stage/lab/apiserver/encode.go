package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// protobufSerializer writes the Go types of client-go. Objects are fields in the cluster and become
// Go types only for protobuf.
var protobufSerializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// usualLength is how many bytes most objects have as JSON, with their managedFields.
const usualLength = 4 << 10

// hasProtobuf reports whether there is a Go type for a kind.
func (r *resource) hasProtobuf() bool { return scheme.Scheme.Recognizes(r.kind) }

// hasGoType reports whether kube-apiserver has a Go type for a kind. Then the items of its lists have no
// kind and apiVersion: those are in the list.
func (r *resource) hasGoType() bool {
	return r.hasProtobuf() || r.kind.Group == "apiextensions.k8s.io" || r.kind.Group == "apiregistration.k8s.io"
}

// marshal returns an object in a form.
func (f form) marshal(u *unstructured.Unstructured) ([]byte, error) {
	switch {
	case f.as == "PartialObjectMetadata":
		return f.marshalTyped(f.partial(u))
	case f.mediaType == protobufType:
		obj, err := typed(u, u.GroupVersionKind().Kind)
		if err != nil {
			return nil, err
		}
		return f.marshalTyped(obj)
	}
	if f.mediaType == yamlType {
		return yaml.Marshal(u.Object)
	}
	data, err := memory.AppendJSON(make([]byte, 0, usualLength), u.Object)
	return append(data, '\n'), err
}

// marshalTyped returns an object of a Go type, with its kind set, in a form.
func (f form) marshalTyped(obj runtime.Object) ([]byte, error) {
	if f.mediaType != protobufType {
		return f.marshalValue(obj)
	}
	var buffer bytes.Buffer
	err := protobufSerializer.Encode(obj, &buffer)
	return buffer.Bytes(), err
}

// marshalValue returns a value as JSON or YAML.
func (f form) marshalValue(v any) ([]byte, error) {
	if f.mediaType == yamlType {
		return yaml.Marshal(v)
	}
	data, err := json.Marshal(v)
	return append(data, '\n'), err
}

// typed returns fields as the Go type of their kind.
func typed(u runtime.Unstructured, kind string) (runtime.Object, error) {
	obj, err := scheme.Scheme.New(u.GetObjectKind().GroupVersionKind().GroupVersion().WithKind(kind))
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.UnstructuredContent(), obj); err != nil {
		return nil, fmt.Errorf("writing a %s as protobuf: %w", kind, err)
	}
	return obj, nil
}

// marshalList returns a list in a form.
func (c *call) marshalList(list *unstructured.UnstructuredList) ([]byte, error) {
	for i := range list.Items {
		if err := c.ctx.Err(); err != nil {
			return nil, err // the client has left
		}
		u, err := c.read(&list.Items[i])
		if err != nil {
			return nil, err
		}
		list.Items[i] = *u
	}
	if c.of.storage != c.of.kind {
		list.SetGroupVersionKind(c.of.kind.GroupVersion().WithKind(c.of.kind.Kind + "List"))
	}
	f := c.form
	switch {
	case f.as == "Table":
		table := c.tabulator().table(list.Items)
		table.ListMeta = listMeta(list)
		return f.marshalValue(table)
	case f.as == "PartialObjectMetadata":
		out := &metav1.PartialObjectMetadataList{ListMeta: listMeta(list), Items: make([]metav1.PartialObjectMetadata, 0, len(list.Items))}
		out.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: f.version}
		for i := range list.Items {
			out.Items = append(out.Items, *f.partial(&list.Items[i]))
		}
		return f.marshalTyped(out)
	case f.mediaType == protobufType:
		obj, err := typed(list, list.GetKind())
		if err != nil {
			return nil, err
		}
		return f.marshalTyped(obj)
	}
	if c.of.hasGoType() { // YAML: see streamList for JSON
		withoutKinds(list.Items)
	}
	return f.marshalValue(list.UnstructuredContent())
}

// withoutKinds removes kind and apiVersion from objects, which may be shared with others.
func withoutKinds(items []unstructured.Unstructured) {
	for i := range items {
		items[i].Object = maps.Clone(items[i].Object)
		delete(items[i].Object, "kind")
		delete(items[i].Object, "apiVersion")
	}
}

func listMeta(list *unstructured.UnstructuredList) metav1.ListMeta {
	return metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount()}
}

// partial returns the metadata of an object. Its metadata has been checked by the cluster.
func (f form) partial(u *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": u.Object["metadata"]}, m); err != nil {
		panic(err)
	}
	m.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: f.version}
	return m
}

// marshalEvent returns an event of a watch in a form, with the frame of a stream.
func (c *call) marshalEvent(e watch.Event, isFirst bool) ([]byte, error) {
	u, isObject := e.Object.(*unstructured.Unstructured)
	if !isObject || e.Type == watch.Bookmark || c.form.as == "Table" {
		return c.encodeEvent(e, isFirst)
	}
	key := eventKey{kind: c.of.kind, event: e.Type, form: c.form}
	return c.events.get(key, u, func() ([]byte, error) { return c.encodeEvent(e, isFirst) })
}

func (c *call) encodeEvent(e watch.Event, isFirst bool) ([]byte, error) {
	f := c.form
	object, err := c.marshalWatched(e, isFirst)
	if err != nil {
		return nil, err
	}
	event := metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: object}}
	if f.mediaType != protobufType {
		return form{mediaType: jsonType}.marshalValue(event)
	}
	data, err := event.Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), err
}

// marshalWatched returns the object of an event.
func (c *call) marshalWatched(e watch.Event, isFirst bool) ([]byte, error) {
	f := c.form
	switch obj := e.Object.(type) {
	case *unstructured.Unstructured:
		obj, err := c.readWatched(e.Type, obj)
		if err != nil {
			return nil, err
		}
		if f.as != "Table" {
			return f.marshal(obj)
		}
		table := c.tabulator().table([]unstructured.Unstructured{*obj})
		table.ResourceVersion = obj.GetResourceVersion()
		if !isFirst {
			table.ColumnDefinitions = nil
		}
		return f.marshalValue(table)
	case *metav1.Status:
		status := *obj
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		f.as = ""
		return f.marshalTyped(&status)
	}
	return nil, fmt.Errorf("an event with a %T", e.Object)
}
