package definitions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// hosts is a definition with two versions, v1 with spec.host and v2, which is stored, with
// spec.address.
const hosts = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: hosts, kind: Host}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: hooks, namespace: system}}}}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {host: {type: string}}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {address: {type: string}}}}}}}
`

var (
	hostV1 = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Host"}
	hostV2 = schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Host"}
	breads = types.NamespacedName{Namespace: "default", Name: "bread"}
)

// renamed converts Hosts.
func renamed(_ context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
	for _, obj := range c.Objects {
		spec, _ := obj.Object["spec"].(map[string]any)
		for from, to := range map[string]string{"host": "address", "address": "host"} {
			if v, has := spec[from]; has && strings.HasSuffix(c.APIVersion, "v2") == (from == "host") {
				delete(spec, from)
				spec[to] = v
			}
		}
		obj.SetAPIVersion(c.APIVersion)
	}
	return c.Objects, nil
}

// newHosts returns a cluster with the definition of Hosts.
func newHosts(convert definitions.Converter) (*memory.Cluster, error) {
	cluster := memory.New(memory.Options{})
	cluster.Extend(definitions.New(definitions.Options{Convert: convert}).Hooks())
	return cluster, cluster.Load(context.Background(), []byte(hosts))
}

// A Go function converts where no webhook can be called.
func ExampleOptions() {
	ctx := context.Background()
	_, err := newHosts(nil)
	fmt.Println(strings.Contains(err.Error(), "spec.conversion.strategy: Forbidden: nothing converts objects here"))

	cluster, err := newHosts(renamed)
	fmt.Println(err)
	err = cluster.Load(ctx, []byte(`{apiVersion: example.com/v1, kind: Host, metadata: {name: bread, namespace: default}, spec: {host: h}}`))
	fmt.Println(err)
	v2, err := cluster.Get(ctx, hostV2, breads)
	fmt.Println(v2.Object["spec"], err)
	v1, err := cluster.Get(ctx, hostV1, breads)
	fmt.Println(v1.Object["spec"], err)
	// Output:
	// true
	// <nil>
	// <nil>
	// map[address:h] <nil>
	// map[host:h] <nil>
}

// TestFaultyConverters checks that a converter which fails is an error of the requests that need it,
// and that a watch and a Feed say it.
func TestFaultyConverters(t *testing.T) {
	for name, test := range map[string]struct {
		convert func(memory.Conversion) ([]*unstructured.Unstructured, error)
		want    string
	}{
		"error":     {func(memory.Conversion) ([]*unstructured.Unstructured, error) { return nil, errors.New("oh") }, "oh"},
		"panic":     {func(memory.Conversion) ([]*unstructured.Unstructured, error) { panic("oh") }, "the conversion of example.com/v2, Kind=Host to example.com/v1 panics: oh"},
		"none":      {func(memory.Conversion) ([]*unstructured.Unstructured, error) { return nil, nil }, "returned 0 objects, expected 1"},
		"unchanged": {func(c memory.Conversion) ([]*unstructured.Unstructured, error) { return c.Objects, nil }, "invalid groupVersion (expected example.com/v1, received example.com/v2)"},
		"name": {func(c memory.Conversion) ([]*unstructured.Unstructured, error) {
			c.Objects[0].SetAPIVersion(c.APIVersion)
			c.Objects[0].SetName("other")
			return c.Objects, nil
		}, "invalid name (expected bread, received other)"},
		"nil": {func(memory.Conversion) ([]*unstructured.Unstructured, error) {
			return []*unstructured.Unstructured{nil}, nil
		}, "it has no fields"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			cluster, err := newHosts(func(_ context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
				return test.convert(c)
			})
			require.NoError(t, err)
			feed, err := cluster.Feed(hostV1, "", metav1.ListOptions{})
			require.NoError(t, err)
			events, err := cluster.Watch(ctx, hostV1, "", metav1.ListOptions{})
			require.NoError(t, err)
			require.NoError(t, cluster.Load(ctx, []byte(`{apiVersion: example.com/v2, kind: Host, metadata: {name: bread, namespace: default}, spec: {address: h}}`)))

			_, err = cluster.Get(ctx, hostV1, breads)
			require.ErrorContains(t, err, test.want)
			_, err = cluster.List(ctx, hostV1, "", metav1.ListOptions{})
			require.ErrorContains(t, err, test.want)
			_, err = cluster.Patch(ctx, hostV1, breads, types.MergePatchType, []byte(`{"spec":{"host":"g"}}`), metav1.PatchOptions{})
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, cluster.Delete(ctx, hostV1, breads, metav1.DeleteOptions{}), test.want)
			first, ok := feed.Next()
			require.True(t, ok)
			for _, e := range []watch.Event{first, <-events.ResultChan()} {
				require.Equal(t, watch.Error, e.Type)
				require.Contains(t, e.Object.(*metav1.Status).Message, test.want)
			}
			_, ends := <-events.ResultChan()
			require.False(t, ends)
			_, err = cluster.Get(ctx, hostV2, breads)
			require.NoError(t, err)
		})
	}
}

// TestConversionsComeInParts checks that a Converter gets at most 500 objects at once.
func TestConversionsComeInParts(t *testing.T) {
	var most, calls int
	cluster, err := newHosts(func(ctx context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
		most, calls = max(most, len(c.Objects)), calls+1
		return renamed(ctx, c)
	})
	require.NoError(t, err)
	for i := range 1001 {
		require.NoError(t, cluster.Load(t.Context(), fmt.Appendf(nil, `{apiVersion: example.com/v2, kind: Host, metadata: {name: h%d, namespace: default}, spec: {address: h}}`, i)))
	}
	require.Zero(t, calls)
	list, err := cluster.List(t.Context(), hostV1, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1001)
	require.Equal(t, 500, most)
	require.Equal(t, 3, calls)
}
