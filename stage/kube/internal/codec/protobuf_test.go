package codec_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest/watch"
	"sigs.k8s.io/randfill"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// kinds are the kinds whose objects an API server has.
func kinds() (all []schema.GroupVersionKind) {
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if obj, err := scheme.Scheme.New(gvk); err == nil && gvk.Version != runtime.APIVersionInternal {
			_, object := obj.(metav1.ListInterface)
			if _, err := meta.Accessor(obj); err == nil || object {
				all = append(all, gvk)
			}
		}
	}
	return all
}

func TestSchemas(t *testing.T) {
	schemas := codec.NewSchemas(scheme.Scheme)
	for _, gvk := range kinds() {
		require.True(t, schemas.Has(gvk), gvk)
	}
	require.False(t, schemas.Has(schema.GroupVersionKind{Group: "example.test", Version: "v1", Kind: "Widget"}))
}

// filler fills objects at random with values that both protobuf and JSON can hold.
func filler(seed int64) *randfill.Filler {
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), serializer.NewCodecFactory(scheme.Scheme))
}

// write returns an object in protobuf and in JSON.
func write(t testing.TB, gvk schema.GroupVersionKind, obj runtime.Object) (binary, text []byte) {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	var b bytes.Buffer
	require.NoError(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &b))
	// The JSON is that of the object which a server decodes from the protobuf.
	again, err := scheme.Scheme.New(gvk)
	require.NoError(t, err)
	_, _, err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(b.Bytes(), nil, again)
	require.NoError(t, err)
	again.GetObjectKind().SetGroupVersionKind(gvk)
	text, err = json.Marshal(again)
	require.NoError(t, err)
	return b.Bytes(), text
}

func TestProtobufIsReadAsJSONIs(t *testing.T) {
	schemas := codec.NewSchemas(scheme.Scheme)
	for _, o := range []codec.Options{{}, {Drop: lean}, {Share: true}, {Drop: lean, Share: true}} {
		o.Schemas = schemas
		_, ours := both(o)
		binary := media(o, runtime.ContentTypeProtobuf)
		for _, gvk := range kinds() {
			fill := filler(1)
			for i := range 6 {
				obj, err := scheme.Scheme.New(gvk)
				require.NoError(t, err)
				if i > 0 { // the first is empty
					fill.Fill(obj)
				}
				data, text := write(t, gvk, obj)
				into := func() runtime.Object { return &unstructured.Unstructured{} }
				if _, isList := obj.(metav1.ListInterface); isList {
					into = func() runtime.Object { return &unstructured.UnstructuredList{} }
				}
				want, _, err := ours.Serializer.Decode(text, nil, into())
				require.NoError(t, err, gvk)
				for range 3 {
					got, kind, err := binary.Serializer.Decode(data, nil, into())
					require.NoError(t, err, gvk)
					require.Equal(t, want, got, gvk)
					require.Equal(t, gvk, *kind)
				}
			}
		}
	}
}

func media(o codec.Options, name string) runtime.SerializerInfo {
	for _, info := range codec.New(dynamicSerializer(), o).SupportedMediaTypes() {
		if info.MediaType == name {
			return info
		}
	}
	panic("no " + name)
}

// TestStreamsOfProtobuf reads events as a watch does.
func TestStreamsOfProtobuf(t *testing.T) {
	info := media(codec.Options{Schemas: codec.NewSchemas(scheme.Scheme)}, runtime.ContentTypeProtobuf)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Command: []string{"x", ""}}}}}
	data, text := write(t, corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	status, _ := write(t, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, &metav1.Status{Code: 410, Reason: "Expired"})
	var stream bytes.Buffer
	frames := info.StreamSerializer.Framer.NewFrameWriter(&stream)
	for typ, object := range map[string][]byte{"ADDED": data, "ERROR": status} {
		event, err := (&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}).Marshal()
		require.NoError(t, err)
		_, err = frames.Write(event)
		require.NoError(t, err)
	}
	events := watch.NewDecoder(streaming.NewDecoder(info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(&stream)), info.StreamSerializer.Serializer), info.Serializer)
	seen := map[string]runtime.Object{}
	for range 2 {
		typ, obj, err := events.Decode()
		require.NoError(t, err)
		seen[string(typ)] = obj
	}
	want := &unstructured.Unstructured{}
	require.NoError(t, want.UnmarshalJSON(text))
	require.Equal(t, want, seen["ADDED"])
	require.EqualValues(t, 410, seen["ERROR"].(*metav1.Status).Code)
	_, _, err := events.Decode()
	require.ErrorIs(t, err, io.EOF)
}

// The answer to a patch comes again, as an event of a watch.
func TestWhatIsReadAgainIsTheSame(t *testing.T) {
	data, _ := write(t, corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "2"}})
	other, _ := write(t, corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "3"}})
	for _, share := range []bool{true, false} {
		info := media(codec.Options{Schemas: codec.NewSchemas(scheme.Scheme), Share: share}, runtime.ContentTypeProtobuf)
		read := func(data []byte) map[string]any {
			obj := &unstructured.Unstructured{}
			_, _, err := info.Serializer.Decode(data, nil, obj)
			require.NoError(t, err)
			return obj.Object
		}
		first := read(data)
		require.Equal(t, share, reflect.ValueOf(first).Pointer() == reflect.ValueOf(read(data)).Pointer())
		require.NotEqual(t, first, read(other))
	}
}

// It may come at the same time.
func TestWhatIsReadTwiceAtOnceIsTheSame(t *testing.T) {
	info := media(codec.Options{Schemas: codec.NewSchemas(scheme.Scheme), Share: true}, runtime.ContentTypeProtobuf)
	for i := range 2000 {
		data, _ := write(t, corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: strconv.Itoa(i)}})
		var read [2]unstructured.Unstructured
		var both sync.WaitGroup
		for j := range read {
			both.Go(func() { _, _, _ = info.Serializer.Decode(data, nil, &read[j]) })
		}
		both.Wait()
		require.NotNil(t, read[0].Object)
		require.Equal(t, reflect.ValueOf(read[0].Object).Pointer(), reflect.ValueOf(read[1].Object).Pointer())
	}
}

func TestOddProtobuf(t *testing.T) {
	info := media(codec.Options{Schemas: codec.NewSchemas(scheme.Scheme)}, runtime.ContentTypeProtobuf)
	widget := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "example.test/v1", Kind: "Widget"}, Raw: []byte{}}
	unknown, err := widget.Marshal()
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"nothing": nil, "JSON": []byte(`{"kind":"Pod"}`), "no envelope": []byte("k8s\x00"), "a cut one": []byte("k8s\x00\x0a\x20"),
		"unknown kind": append([]byte("k8s\x00"), unknown...),
		"wrong type":   []byte("k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x08\x01"),
		"cut content":  []byte("k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x0a\x07"),
	} {
		for target, into := range targets {
			_, _, err := info.Serializer.Decode(data, nil, into())
			require.Error(t, err, "%s into %s", name, target)
		}
	}
}

// A server that is older than these types does not write an object that it does not know. A server
// that knows the object always writes it. So the reader invents nothing.
func TestObjectsOfLaterVersions(t *testing.T) {
	info := media(codec.Options{Schemas: codec.NewSchemas(scheme.Scheme)}, runtime.ContentTypeProtobuf)
	metadata, err := (&metav1.ObjectMeta{Name: "web"}).Marshal()
	require.NoError(t, err)
	message := append([]byte{0x0a, byte(len(metadata))}, metadata...)
	into := &unstructured.Unstructured{}
	_, _, err = info.Serializer.Decode(envelope(t, corev1.SchemeGroupVersion.WithKind("Pod"), message), nil, into)
	require.NoError(t, err)
	require.NotContains(t, into.Object, "status")
	require.NotContains(t, into.Object, "spec")
}

// A field of a later version is never lost: the whole message is refused, and so is the kind.
func TestUnknownFields(t *testing.T) {
	const apiVersion = "v1"
	later := []byte("\xfa\x07\x03abc") // field 127, three bytes
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	metadata := metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}
	pod := &corev1.Pod{ObjectMeta: metadata, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	config := &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{"k": "v"}}
	for where, c := range map[string]struct {
		obj  marshaler
		kind string
		name types.NamespacedName
		at   func([]byte) []byte // puts the field into the message
	}{
		"object":     {config, "ConfigMap", name, func(b []byte) []byte { return append(b, later...) }},
		"metadata":   {config, "ConfigMap", name, func(b []byte) []byte { return within(b, later, 1) }},
		"status":     {pod, "Pod", name, func(b []byte) []byte { return within(b, later, 3) }},
		"container":  {pod, "Pod", name, func(b []byte) []byte { return within(b, later, 2, 2) }},
		"list":       {&corev1.PodList{Items: []corev1.Pod{*pod}}, "PodList", types.NamespacedName{}, func(b []byte) []byte { return append(b, later...) }},
		"list item":  {&corev1.PodList{Items: []corev1.Pod{*pod}}, "PodList", types.NamespacedName{}, func(b []byte) []byte { return within(b, later, 2) }},
		"wrong type": {config, "ConfigMap", name, func(b []byte) []byte { return append(b, "\x10\x01"...) }},
	} {
		t.Run(where, func(t *testing.T) {
			schemas := codec.NewSchemas(scheme.Scheme)
			info := media(codec.Options{Schemas: schemas, Share: true}, runtime.ContentTypeProtobuf)
			message, err := c.obj.Marshal()
			require.NoError(t, err)
			gvk := schema.FromAPIVersionAndKind(apiVersion, c.kind)
			of := gvk.GroupVersion().WithKind(strings.TrimSuffix(c.kind, "List"))
			var into runtime.Object = &unstructured.Unstructured{}
			if of != gvk {
				into = &unstructured.UnstructuredList{}
			}
			_, _, err = info.Serializer.Decode(envelope(t, gvk, message), nil, into)
			require.NoError(t, err)
			require.True(t, schemas.Has(of))
			for range 3 { // parts of the message may be shared by now
				_, _, err = info.Serializer.Decode(envelope(t, gvk, c.at(message)), nil, into)
				require.Equal(t, &codec.UnreadableError{Kind: gvk, Name: c.name}, err)
			}
			require.False(t, schemas.Has(of))
			require.True(t, schemas.Has(corev1.SchemeGroupVersion.WithKind("Node")))
		})
	}
}

type marshaler interface{ Marshal() ([]byte, error) }

func envelope(t *testing.T, gvk schema.GroupVersionKind, message []byte) []byte {
	t.Helper()
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: message}
	data, err := unknown.Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), data...)
}

// within appends a field to the first message that is found at a path of field numbers.
func within(message, field []byte, path ...protowire.Number) []byte {
	if len(path) == 0 {
		return append(slices.Clone(message), field...)
	}
	for at := 0; at < len(message); {
		number, wire, tag := protowire.ConsumeTag(message[at:])
		size := protowire.ConsumeFieldValue(number, wire, message[at+tag:])
		if number == path[0] && wire == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(message[at+tag:])
			out := append(slices.Clone(message[:at+tag]), protowire.AppendBytes(nil, within(inner, field, path[1:]...))...)
			return append(out, message[at+tag+size:]...)
		}
		at += tag + size
	}
	panic("no such field")
}

func FuzzReadingProtobuf(f *testing.F) {
	pod := &corev1.Pod{}
	require.NoError(f, json.Unmarshal(recorded(f, "pod.json"), pod))
	data, _ := write(f, corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	f.Add(data)
	schemas := codec.NewSchemas(scheme.Scheme)
	plain := media(codec.Options{Schemas: schemas}, runtime.ContentTypeProtobuf)
	sharing := media(codec.Options{Schemas: schemas, Share: true}, runtime.ContentTypeProtobuf)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, into := range targets {
			want, _, wantErr := plain.Serializer.Decode(data, nil, into())
			for range 3 {
				got, _, err := sharing.Serializer.Decode(data, nil, into())
				require.Equal(t, wantErr, err)
				if err == nil {
					require.Equal(t, want, got)
				}
			}
		}
	})
}
