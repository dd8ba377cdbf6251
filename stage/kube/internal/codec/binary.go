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
)

// Accept asks a server for protobuf, and for JSON of what it has in no other form.
const Accept = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// binary returns what reads protobuf.
func binary(o Options, typed *runtime.Scheme) runtime.SerializerInfo {
	return runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeProtobuf,
		MediaTypeType:    "application",
		MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer:       messages{protobuf.NewSerializer(typed, typed), newDecoders(o), o.Shapes, typed},
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: messageEvents{protobuf.NewRawSerializer(typed, typed)},
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}
}

// messages reads objects and lists.
type messages struct {
	runtime.Serializer // for the kinds that the dynamic client reads into Go types
	decoders           *decoders
	shapes             *Shapes
	typed              *runtime.Scheme
}

var errMalformed = errors.New("malformed protobuf")

// Decode reads what the dynamic client reads into.
func (m messages) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	said, raw, ok := open(data)
	var k *kind
	if ok {
		k, ok = m.shapes.of(said)
	}
	switch into.(type) {
	case nil:
		if !ok || m.typed.Recognizes(k.gvk) {
			return m.Serializer.Decode(data, defaults, nil)
		}
		into = &unstructured.Unstructured{}
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
	default:
		return m.Serializer.Decode(data, defaults, into)
	}
	if !ok {
		return nil, nil, errMalformed
	}
	gvk := k.gvk
	return into, &gvk, m.read(k, raw, into)
}

// read reads an object or a list.
func (m messages) read(k *kind, raw []byte, into runtime.Object) error {
	if k.shape == nil {
		return fmt.Errorf("protobuf of an unknown kind: %s", k.gvk)
	}
	ok := false
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object, ok = m.decoders.read(k, raw)
	case *unstructured.UnstructuredList:
		var fields map[string]any
		fields, ok = m.decoders.readList(k, raw)
		if fields["items"] == nil {
			fields["items"] = []any{}
		}
		ok = ok && takeItems(into, fields)
	}
	if !ok {
		return fmt.Errorf("%w: %s", errMalformed, k.gvk)
	}
	return nil
}

// prefix tells an envelope: a runtime.Unknown.
var prefix = []byte("k8s\x00")

// open returns what an envelope says that it holds, and what it holds. It is false for one that is compressed, which no server sends.
func open(data []byte) (said, raw []byte, ok bool) {
	data, ok = bytes.CutPrefix(data, prefix)
	if !ok {
		return nil, nil, false
	}
	typ, ok := find(data, 1)
	object, _ := find(data, 2)
	encoding, _ := find(data, 3)
	return typ.bytes, object.bytes, ok && len(encoding.bytes) == 0
}

// messageEvents reads the envelopes of a watch. The object within stays the bytes it is, and belongs to the buffer that it was read from.
type messageEvents struct{ runtime.Serializer }

// Decode reads a watch event.
func (m messageEvents) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return m.Serializer.Decode(data, defaults, into)
	}
	typ, ok := find(data, 1)
	object, _ := find(data, 2)
	raw, is := find(object.bytes, 1)
	if !ok || !is {
		return nil, nil, errMalformed
	}
	event.Type, event.Object.Raw = string(typ.bytes), raw.bytes
	return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
}
