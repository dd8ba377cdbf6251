package codec

import (
	"bytes"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
)

// Accept is the header that asks a server for protobuf, and for JSON where it has no protobuf.
const Accept = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// UnreadableError says that a protobuf message has a field which the Go types of this program do
// not have, or is malformed. The message is not read at all, and [Schemas.Has] is false for its
// kind from then on: ask for JSON instead.
type UnreadableError struct {
	Kind schema.GroupVersionKind // that of the message
	Name types.NamespacedName    // of the object; empty for a list
}

// Error names the kind.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("protobuf of %s has a field that the Go types of this program do not have, or is malformed: "+
		"the kind is read as JSON from now on", e.Kind)
}

// protobufInfo returns the reader of protobuf.
func protobufInfo(o Options, typed *runtime.Scheme) runtime.SerializerInfo {
	return runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeProtobuf,
		MediaTypeType:    "application",
		MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer:       protobufObjects{protobuf.NewSerializer(typed, typed), newDecoders(o), o.Schemas, typed},
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobufEvents{protobuf.NewRawSerializer(typed, typed)},
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}
}

// protobufObjects reads objects and lists.
type protobufObjects struct {
	runtime.Serializer // for the kinds that the dynamic client reads into Go types
	decoders           *decoders
	schemas            *Schemas
	typed              *runtime.Scheme
}

var errMalformed = errors.New("malformed protobuf")

// Decode implements runtime.Decoder for the types that the dynamic client decodes into.
func (p protobufObjects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	typeMeta, raw, ok := openEnvelope(data)
	var k *kind
	if ok {
		k, ok = p.schemas.of(typeMeta)
	}
	switch into.(type) {
	case nil:
		if !ok || p.typed.Recognizes(k.gvk) {
			return p.Serializer.Decode(data, defaults, nil)
		}
		into = &unstructured.Unstructured{}
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
	default:
		return p.Serializer.Decode(data, defaults, into)
	}
	if !ok {
		return nil, nil, errMalformed
	}
	if k.message == nil || !p.read(k, raw, into) {
		p.schemas.refuse(k.gvk)
		return nil, nil, &UnreadableError{Kind: k.gvk, Name: nameOf(raw)}
	}
	gvk := k.gvk
	return into, &gvk, nil
}

// read reads an object or a list.
func (p protobufObjects) read(k *kind, raw []byte, into runtime.Object) (ok bool) {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object, ok = p.decoders.read(k, raw)
	case *unstructured.UnstructuredList:
		var fields map[string]any
		fields, ok = p.decoders.readList(k, raw)
		if fields["items"] == nil {
			fields["items"] = []any{}
		}
		ok = ok && takeItems(into, fields)
	}
	return ok
}

// nameOf returns the name of the object that a message is: metadata is field 1 of every object.
func nameOf(message []byte) types.NamespacedName {
	metadata, _ := lastValue(message, 1)
	name, _ := lastValue(metadata.bytes, 1)
	namespace, _ := lastValue(metadata.bytes, 3)
	return types.NamespacedName{Namespace: string(namespace.bytes), Name: string(name.bytes)}
}

// envelopePrefix begins every message of Kubernetes. A runtime.Unknown follows it.
var envelopePrefix = []byte("k8s\x00")

// openEnvelope returns the type that an envelope names, and the message in it. It is false for a
// compressed envelope, which no server sends.
func openEnvelope(data []byte) (typeMeta, raw []byte, ok bool) {
	data, ok = bytes.CutPrefix(data, envelopePrefix)
	if !ok {
		return nil, nil, false
	}
	typ, ok := lastValue(data, 1)
	object, _ := lastValue(data, 2)
	encoding, _ := lastValue(data, 3)
	return typ.bytes, object.bytes, ok && len(encoding.bytes) == 0
}

// protobufEvents reads the envelopes of a watch. The object of an event is not read yet: its bytes
// are those of the buffer that it was read from.
type protobufEvents struct{ runtime.Serializer }

// Decode reads a watch event.
func (p protobufEvents) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return p.Serializer.Decode(data, defaults, into)
	}
	typ, ok := lastValue(data, 1)
	object, _ := lastValue(data, 2)
	raw, is := lastValue(object.bytes, 1)
	if !ok || !is {
		return nil, nil, errMalformed
	}
	event.Type, event.Object.Raw = string(typ.bytes), raw.bytes
	return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
}
