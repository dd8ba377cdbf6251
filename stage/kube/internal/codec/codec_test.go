package codec_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// both returns two readers of JSON: the dynamic client's, and ours.
func both(o codec.Options) (theirs, ours runtime.SerializerInfo) {
	base := dynamicSerializer()
	return base.SupportedMediaTypes()[0], codec.New(base, o).SupportedMediaTypes()[0]
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return data
}

// targets are the types that the dynamic client reads into.
var targets = map[string]func() runtime.Object{
	"anything": func() runtime.Object { return nil },
	"object":   func() runtime.Object { return &unstructured.Unstructured{} },
	"list":     func() runtime.Object { return &unstructured.UnstructuredList{} },
	"status":   func() runtime.Object { return &metav1.Status{} },
}

// same checks that both read the same value, or refuse it with the same words. It reads twice, so
// that the second reading shares.
func same(t *testing.T, data []byte) {
	t.Helper()
	theirs, ours := both(codec.Options{})
	_, sharing := both(codec.Options{Share: true})
	for name, into := range targets {
		want, wantKind, wantErr := theirs.Serializer.Decode(data, nil, into())
		for _, reader := range []runtime.Decoder{ours.Serializer, sharing.Serializer, sharing.Serializer, sharing.Serializer} {
			got, kind, err := reader.Decode(data, nil, into())
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error(), name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			require.Equal(t, wantKind, kind, name)
		}
	}
}

func TestRecordedAnswersAreReadAsClientGoReadsThem(t *testing.T) {
	for _, name := range []string{"pod.json", "pods.json", "missing.json", "resources.json"} {
		same(t, recorded(t, name))
	}
	for _, line := range bytes.SplitAfter(recorded(t, "watch.json"), []byte("\n")) {
		same(t, line)
	}
}

// texts are small, and some are odd.
var texts = []string{
	``, ` `, `null`, `{}`, `[]`, `"a"`, `1`, `{`, `}`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"kind":"A"} x`, `{"kind":1}`,
	`{"kind":"A"}`, `{"apiVersion":"v1","kind":"A"}`, ` { "apiVersion" : "v1" , "kind" : "A" , "b" : [ 1 , true , false , null , { } , [ ] ] } `,
	`{"apiVersion":"v1","kind":"A","n":[0,-0,-1,7,255,256,123456789012345678,9223372036854775807,-9223372036854775808,9223372036854775808,1.5,1e3,1E-2,2.0]}`,
	`{"apiVersion":"v1","kind":"A","n":01}`, `{"apiVersion":"v1","kind":"A","n":-}`, `{"apiVersion":"v1","kind":"A","n":1e999}`, `{"apiVersion":"v1","kind":"A","n":+1}`, `{"apiVersion":"v1","kind":"A","n":.5}`,
	`{"apiVersion":"v1","kind":"A","s":["","\"","\\","\/","\b\f\n\r\t","é","é","😀","\ud800","日本","` + "\xff" + `"]}`,
	`{"apiVersion":"v1","kind":"A","s":"` + "\x01" + `"}`, `{"apiVersion":"v1","kind":"A","s":"\x"}`, `{"apiVersion":"v1","kind":"A","s":"\`, `{"apiVersion":"v1","kind":"A","s":"`,
	`{"apiVersion":"v1","kind":"A","a":1,"a":{"b":1},"a":{"c":2}}`, `{"apiVersion":"v1","kind":"A","kind":"B"}`, `{"ApiVersion":"v1","Kind":"A"}`,
	`{"apiVersion":"v1","kind":"AList","metadata":{"resourceVersion":"1"},"items":[{"a":1},{"kind":"B","apiVersion":"v2"},{"kind":"B"}]}`,
	`{"apiVersion":"v1","kind":"A","items":[]}`, `{"apiVersion":"v1","kind":"AList","items":null}`, `{"apiVersion":"v1","kind":"AList","items":[1]}`, `{"apiVersion":"v1","kind":"AList","items":{}}`, `{"apiVersion":"v1","kind":"List","items":[null]}`,
	`{"apiVersion":"v1","kind":"Status","status":"Failure","code":404,"reason":"NotFound"}`, `{"apiVersion":"v2","kind":"Status"}`,
	`{"apiVersion":"v1","kind":"A","deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	`{"apiVersion":"v1","kind":"A","deep":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	`{"apiVersion":"v1","kind":"A","t":tru}`, `{"apiVersion":"v1","kind":"A","t":nul`, `{"apiVersion":"v1","kind":"A","long":"` + strings.Repeat("x", 100) + `"}`,
}

func TestOddTextsAreReadAsClientGoReadsThem(t *testing.T) {
	for _, text := range texts {
		t.Run("", func(t *testing.T) {
			t.Logf("%.200q", text)
			same(t, []byte(text))
		})
	}
}

func FuzzReading(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	for _, name := range []string{"pod.json", "pods.json", "missing.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(same)
}

// lean are the fields that players do not want.
var lean = codec.Fields{"metadata": {"managedFields": nil, "annotations": {"last": nil}}}

func TestFieldsAreLeftOut(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","managedFields":[{"x":"]}\\\"{"}],"annotations":{"last":"{}","b":"c"}},"managedFields":1,"metadata2":{"managedFields":2}}`
	want := map[string]any{
		"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a", "annotations": map[string]any{"b": "c"}},
		"managedFields": int64(1), "metadata2": map[string]any{"managedFields": int64(2)},
	}
	_, ours := both(codec.Options{Drop: lean})
	got, _, err := ours.Serializer.Decode([]byte(object), nil, &unstructured.Unstructured{})
	require.NoError(t, err)
	require.Equal(t, want, got.(*unstructured.Unstructured).Object)

	got, _, err = ours.Serializer.Decode([]byte(`{"apiVersion":"v1","kind":"AList","metadata":{"managedFields":3},"items":[`+object+`]}`), nil, &unstructured.UnstructuredList{})
	require.NoError(t, err)
	list := got.(*unstructured.UnstructuredList)
	require.Equal(t, want, list.Items[0].Object)
	require.Equal(t, map[string]any{"managedFields": int64(3)}, list.Object["metadata"])
}

func TestEqualPartsAreShared(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","labels":{"app":"web"}},"spec":{"tolerations":[{"key":"a"}],"nodeName":"%[1]s"}}`
	_, ours := both(codec.Options{Share: true})
	read := func(name string) *unstructured.Unstructured {
		obj, _, err := ours.Serializer.Decode(fmt.Appendf(nil, pod, name), nil, nil)
		require.NoError(t, err)
		require.Equal(t, name, obj.(*unstructured.Unstructured).GetName())
		return obj.(*unstructured.Unstructured)
	}
	first, part := read("a"), func(obj *unstructured.Unstructured, path ...string) any {
		v, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
		return v
	}
	shares := func() bool { // after a few: the race detector has pools forget
		a, b := read("b"), read("c")
		la, lb := part(a, "metadata", "labels").(map[string]any), part(b, "metadata", "labels").(map[string]any)
		ta, tb := part(a, "spec", "tolerations").([]any), part(b, "spec", "tolerations").([]any)
		return reflect.ValueOf(la).Pointer() == reflect.ValueOf(lb).Pointer() && &ta[0] == &tb[0]
	}
	found := false
	for range 100 {
		found = found || shares()
	}
	require.True(t, found)
	require.Equal(t, "a", first.GetName())
}

func TestObjectsOutliveTheirText(t *testing.T) {
	_, ours := both(codec.Options{})
	text := []byte(`{"apiVersion":"v1","kind":"A","s":"abc","t":"` + strings.Repeat("x", 100) + `"}`)
	got, _, err := ours.Serializer.Decode(text, nil, nil)
	require.NoError(t, err)
	want := got.DeepCopyObject()
	clear(text)
	require.Equal(t, want, got)
}

func dynamicSerializer() runtime.NegotiatedSerializer {
	return dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
}
