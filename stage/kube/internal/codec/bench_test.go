package codec_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest/watch"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

var players = codec.Fields{"metadata": {"managedFields": nil, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": nil}}}

// BenchmarkPod reads the answer to a patch.
func BenchmarkPod(b *testing.B) {
	data := recorded(b, "pod.json")
	compared(b, func(b *testing.B, info runtime.SerializerInfo) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			_, _, err := info.Serializer.Decode(data, nil, &unstructured.Unstructured{})
			require.NoError(b, err)
		}
	})
}

// BenchmarkBinary reads the same answer in protobuf.
func BenchmarkBinary(b *testing.B) {
	pod := &corev1.Pod{}
	require.NoError(b, json.Unmarshal(recorded(b, "pod.json"), pod))
	data, _ := write(b, corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	for name, o := range map[string]codec.Options{"whole": {}, "lean": {Drop: players}, "sharing": {Drop: players, Share: true}} {
		o.Schemas = codec.NewSchemas(scheme.Scheme)
		binary := media(o, runtime.ContentTypeProtobuf)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_, _, err := binary.Serializer.Decode(data, nil, &unstructured.Unstructured{})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkList reads a page of 500 Pods.
func BenchmarkList(b *testing.B) {
	pod := recorded(b, "pod.json")
	data := append([]byte(`{"apiVersion":"v1","kind":"PodList","items":[`), bytes.Repeat(append(pod, ','), 499)...)
	data = append(append(data, pod...), "]}"...)
	compared(b, func(b *testing.B, info runtime.SerializerInfo) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			_, _, err := info.Serializer.Decode(data, nil, &unstructured.UnstructuredList{})
			require.NoError(b, err)
		}
	})
}

// BenchmarkWatch reads one of the six watch events that three Pods cause on their way to Running.
func BenchmarkWatch(b *testing.B) {
	data := recorded(b, "watch.json")
	compared(b, func(b *testing.B, info runtime.SerializerInfo) {
		stream := endless{data: data}
		frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(&stream))
		events := watch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
		b.SetBytes(int64(len(data) / 6))
		for b.Loop() {
			_, _, err := events.Decode()
			require.NoError(b, err)
		}
	})
}

func compared(b *testing.B, run func(*testing.B, runtime.SerializerInfo)) {
	theirs, whole := both(codec.Options{})
	_, lean := both(codec.Options{Drop: players})
	_, sharing := both(codec.Options{Drop: players, Share: true})
	for _, c := range []struct {
		name string
		info runtime.SerializerInfo
	}{{"client-go", theirs}, {"whole", whole}, {"lean", lean}, {"sharing", sharing}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, c.info)
		})
	}
}

// endless is a stream that starts again at its end.
type endless struct {
	data []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.data[e.at:])
	e.at = (e.at + n) % len(e.data)
	return n, nil
}
