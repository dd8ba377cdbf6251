package apiserver_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// hosts is a definition with two versions: v1 has spec.host and spec.port, v2 has spec.address, and
// v2 is stored.
const hosts = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {plural: hosts, singular: host, kind: Host, listKind: HostList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:9/convert"}}}
  versions:
  - name: v1
    served: true
    storage: false
    subresources: {status: {}, scale: {specReplicasPath: .spec.copies, statusReplicasPath: .status.copies}}
    selectableFields: [{jsonPath: .spec.host}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [host]
            properties: {host: {type: string}, port: {type: string, default: "80"}, copies: {type: integer}}
          status: {type: object, properties: {copies: {type: integer}}}
  - name: v2
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [address]
            properties: {address: {type: string, pattern: ".+:[0-9]+"}, replicas: {type: integer}, tier: {type: string, default: gold}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

var (
	hostsV1 = schema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "hosts"}
	hostsV2 = schema.GroupVersionResource{Group: "x.io", Version: "v2", Resource: "hosts"}
)

// convertHost changes a Host to the other version.
func convertHost(obj map[string]any, to string) {
	spec, _ := obj["spec"].(map[string]any)
	status, _ := obj["status"].(map[string]any)
	rename := func(fields map[string]any, from, to string) {
		if v, has := fields[from]; has {
			fields[to] = v
			delete(fields, from)
		}
	}
	if obj["apiVersion"] = to; spec == nil {
		return // managers can own no field of it
	}
	if to == "x.io/v2" {
		spec["address"] = fmt.Sprint(spec["host"], ":", spec["port"])
		rename(spec, "copies", "replicas")
		rename(status, "copies", "replicas")
		delete(spec, "host")
		delete(spec, "port")
		return
	}
	address, _ := spec["address"].(string)
	spec["host"], spec["port"], _ = strings.Cut(address, ":")
	delete(spec, "address")
	delete(spec, "tier")
	rename(spec, "replicas", "copies")
	rename(status, "replicas", "copies")
}

// A converter is a conversion webhook for Hosts.
type converter struct {
	calls, objects atomic.Int64
	change         func(review map[string]any) // of the answer
}

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID, DesiredAPIVersion string
			Objects                []map[string]any
		}
	}
	data, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(data, &review); err != nil {
		panic(err)
	}
	c.calls.Add(1)
	c.objects.Add(int64(len(review.Request.Objects)))
	converted := []any{}
	for _, obj := range review.Request.Objects {
		convertHost(obj, review.Request.DesiredAPIVersion)
		converted = append(converted, obj)
	}
	answer := map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
		"uid": review.Request.UID, "convertedObjects": converted, "result": map[string]any{"status": "Success"}}}
	if c.change != nil {
		c.change(answer["response"].(map[string]any))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// newHosts returns a client of a server with the definition, which calls a handler in the process.
func newHosts(t *testing.T, webhook http.Handler) (dynamic.Interface, *memory.Cluster) {
	t.Helper()
	cluster := memory.New(memory.Options{})
	client := dynamic.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{Webhooks: func(string) http.Handler { return webhook }}))
	_, err := client.Resource(definitionKind).Create(t.Context(), fields(t, hosts), metav1.CreateOptions{})
	require.NoError(t, err)
	return client, cluster
}

func specOf(t *testing.T, u *unstructured.Unstructured, err error) map[string]any {
	t.Helper()
	require.NoError(t, err)
	spec, _ := u.Object["spec"].(map[string]any)
	return spec
}

// TestConversion holds that each request has its version: what it writes is defaulted, pruned and
// validated there, stored in the storage version, and read in the version of the reader.
func TestConversion(t *testing.T) {
	webhook := &converter{}
	client, cluster := newHosts(t, webhook)
	ctx, v1, v2 := t.Context(), client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")

	made, err := v1.Create(ctx, fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a, labels: {l: x}}, spec: {host: h, unknown: 1}}`), metav1.CreateOptions{})
	require.Equal(t, map[string]any{"host": "h", "port": "80"}, specOf(t, made, err))
	require.Equal(t, "x.io/v1", made.GetAPIVersion())
	_, err = v1.Create(ctx, fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: b}, spec: {address: "h:1"}}`), metav1.CreateOptions{})
	require.ErrorContains(t, err, "spec.host: Required value")

	read, err := v2.Get(ctx, "a", metav1.GetOptions{})
	require.Equal(t, map[string]any{"address": "h:80", "tier": "gold"}, specOf(t, read, err), "stored by v1, the default of the stored version is filled in when it is read")
	require.Equal(t, made.GetUID(), read.GetUID())
	for u := range cluster.All() {
		if u.GetKind() == "Host" {
			require.Equal(t, "x.io/v2", u.GetAPIVersion(), "the storage version")
		}
	}

	read.Object["spec"] = map[string]any{"address": "other:81", "replicas": int64(2)}
	read, err = v2.Update(ctx, read, metav1.UpdateOptions{})
	require.Equal(t, "gold", specOf(t, read, err)["tier"])
	require.EqualValues(t, 2, read.GetGeneration())
	old, err := v1.Get(ctx, "a", metav1.GetOptions{})
	require.Equal(t, map[string]any{"host": "other", "port": "81", "copies": int64(2)}, specOf(t, old, err))

	patched, err := v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"port":"82"}}`), metav1.PatchOptions{})
	require.Equal(t, map[string]any{"host": "other", "port": "82", "copies": int64(2)}, specOf(t, patched, err))
	_, err = v2.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/address","value":"other:82"}]`), metav1.PatchOptions{})
	require.NoError(t, err)

	patched, err = v1.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	patched.Object["status"] = map[string]any{"copies": int64(1)}
	_, err = v1.UpdateStatus(ctx, patched, metav1.UpdateOptions{})
	require.NoError(t, err)
	read, err = v2.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"replicas": int64(1)}, read.Object["status"])

	scale, err := v1.Get(ctx, "a", metav1.GetOptions{}, "scale")
	require.Equal(t, map[string]any{"replicas": int64(2)}, specOf(t, scale, err))
	require.NoError(t, unstructured.SetNestedField(scale.Object, int64(5), "spec", "replicas"))
	_, err = v1.Update(ctx, scale, metav1.UpdateOptions{}, "scale")
	require.NoError(t, err)
	read, err = v2.Get(ctx, "a", metav1.GetOptions{})
	require.EqualValues(t, 5, specOf(t, read, err)["replicas"])

	require.NoError(t, v1.Delete(ctx, "a", metav1.DeleteOptions{}))
}

// TestConvertedLists holds that a list is one review for many objects, and that selectors are for
// the version of the request.
func TestConvertedLists(t *testing.T) {
	webhook := &converter{}
	client, _ := newHosts(t, webhook)
	ctx, v1, v2 := t.Context(), client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
	for i := range 20 {
		_, err := v2.Create(ctx, fields(t, fmt.Sprintf(`{apiVersion: x.io/v2, kind: Host, metadata: {name: h%02d}, spec: {address: "h%d:1"}}`, i, i%2)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.Zero(t, webhook.calls.Load(), "the storage version needs no webhook")
	list, err := v1.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 20)
	require.Equal(t, map[string]any{"host": "h1", "port": "1"}, list.Items[1].Object["spec"])
	require.EqualValues(t, 1, webhook.calls.Load())
	require.EqualValues(t, 20, webhook.objects.Load())

	list, err = v1.List(ctx, metav1.ListOptions{FieldSelector: "spec.host=h1"})
	require.NoError(t, err)
	require.Len(t, list.Items, 10)
	webhook.objects.Store(0)
	list, err = v1.List(ctx, metav1.ListOptions{Limit: 8})
	require.NoError(t, err)
	require.Len(t, list.Items, 8)
	require.EqualValues(t, 8, webhook.objects.Load())
	list, err = v1.List(ctx, metav1.ListOptions{Limit: 8, Continue: list.GetContinue()})
	require.NoError(t, err)
	require.Equal(t, "x.io/v1", list.Items[0].GetAPIVersion())
	require.Equal(t, "h08", list.Items[0].GetName())
}

// TestConvertedWatches holds that a watch in each version has the objects of its version.
func TestConvertedWatches(t *testing.T) {
	client, _ := newHosts(t, &converter{})
	ctx, v1, v2 := t.Context(), client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
	one, err := v1.Watch(ctx, metav1.ListOptions{FieldSelector: "spec.host=h"})
	require.NoError(t, err)
	defer one.Stop()
	two, err := v2.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer two.Stop()
	_, err = v1.Create(ctx, fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a}, spec: {host: h}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = v2.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"address":"g:1"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	next := func(w watch.Interface) (watch.EventType, any) {
		e := <-w.ResultChan()
		return e.Type, e.Object.(*unstructured.Unstructured).Object["spec"]
	}
	for _, want := range []struct {
		w    watch.Interface
		typ  watch.EventType
		spec map[string]any
	}{
		{one, watch.Added, map[string]any{"host": "h", "port": "80"}},
		{one, watch.Deleted, map[string]any{"host": "h", "port": "80"}},
		{two, watch.Added, map[string]any{"address": "h:80", "tier": "gold"}},
		{two, watch.Modified, map[string]any{"address": "g:1", "tier": "gold"}},
	} {
		typ, spec := next(want.w)
		require.Equal(t, want.typ, typ)
		require.Equal(t, want.spec, spec)
	}
}

// TestAppliesInTwoVersions holds that managers in different versions own the same fields.
func TestAppliesInTwoVersions(t *testing.T) {
	client, _ := newHosts(t, &converter{})
	ctx, v1, v2 := t.Context(), client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
	_, err := v1.Apply(ctx, "a", fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a}, spec: {host: h, port: "1", copies: 2}}`), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	_, err = v2.Apply(ctx, "a", fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {replicas: 3}}`), metav1.ApplyOptions{FieldManager: "two"})
	require.ErrorContains(t, err, `conflict with "one": .spec.copies`)
	got, err := v2.Apply(ctx, "a", fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {replicas: 3}}`), metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.EqualValues(t, 3, specOf(t, got, err)["replicas"])
	managers := map[string]string{}
	for _, e := range got.GetManagedFields() {
		managers[e.Manager] = e.APIVersion + " " + string(e.FieldsV1.Raw)
	}
	require.Equal(t, map[string]string{
		"one": `x.io/v1 {"f:spec":{"f:host":{},"f:port":{}}}`,
		"two": `x.io/v2 {"f:spec":{"f:replicas":{}}}`,
	}, managers)
	got, err = v2.Apply(ctx, "a", fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}}`), metav1.ApplyOptions{FieldManager: "two"})
	require.NotContains(t, specOf(t, got, err), "replicas", "what nobody applies any longer is removed")
}

// TestFaultyConversions holds that a webhook that fails harms the requests that need it, and no
// others.
func TestFaultyConversions(t *testing.T) {
	first := func(response map[string]any) map[string]any {
		return response["convertedObjects"].([]any)[0].(map[string]any)
	}
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"uid of another review": {func(r map[string]any) { r["uid"] = "x" }, `conversion webhook for x.io/v2, Kind=Host failed: expected response.uid=`},
		"says no":               {func(r map[string]any) { r["result"] = map[string]any{"status": "Failure", "message": "I do not know"} }, `conversion webhook for x.io/v2, Kind=Host failed: I do not know`},
		"no object":             {func(r map[string]any) { r["convertedObjects"] = []any{} }, `returned 0 objects, expected 1`},
		"other version":         {func(r map[string]any) { first(r)["apiVersion"] = "x.io/v3" }, `invalid groupVersion (expected x.io/v1, received x.io/v3)`},
		"other name":            {func(r map[string]any) { first(r)["metadata"].(map[string]any)["name"] = "b" }, `must have the same name: a != b`},
		"faulty label":          {func(r map[string]any) { first(r)["metadata"].(map[string]any)["labels"] = map[string]any{"l": "/"} }, `returned invalid metadata: metadata.labels`},
		"panics":                {func(map[string]any) { panic("oh") }, `conversion webhook for x.io/v2, Kind=Host failed`},
		"endless":               {func(r map[string]any) { r["x"] = strings.Repeat("x", 9<<20) }, `the answer is longer than 8388608 bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			webhook := &converter{change: test.change}
			client, _ := newHosts(t, webhook)
			v1, v2 := client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
			_, err := v2.Create(t.Context(), fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {address: "h:1"}}`), metav1.CreateOptions{})
			require.NoError(t, err)
			_, err = v1.Get(t.Context(), "a", metav1.GetOptions{})
			require.ErrorContains(t, err, test.want)
			_, err = v1.List(t.Context(), metav1.ListOptions{})
			require.ErrorContains(t, err, test.want)
			_, err = v1.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"port":"2"}}`), metav1.PatchOptions{})
			require.ErrorContains(t, err, test.want)
			require.Error(t, v1.Delete(t.Context(), "a", metav1.DeleteOptions{}))
			_, err = v2.Get(t.Context(), "a", metav1.GetOptions{})
			require.NoError(t, err)
		})
	}
}

// TestMetadataOfConversions holds that a webhook can change labels and annotations, and no other
// metadata.
func TestMetadataOfConversions(t *testing.T) {
	client, _ := newHosts(t, &converter{change: func(r map[string]any) {
		metadata := r["convertedObjects"].([]any)[0].(map[string]any)["metadata"].(map[string]any)
		metadata["labels"], metadata["finalizers"], metadata["generation"] = map[string]any{"from": "webhook"}, []any{"x.io/f"}, 7
	}})
	_, err := client.Resource(hostsV2).Namespace("default").Create(t.Context(),
		fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {address: "h:1"}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := client.Resource(hostsV1).Namespace("default").Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"from": "webhook"}, got.GetLabels())
	require.Empty(t, got.GetFinalizers())
	require.EqualValues(t, 1, got.GetGeneration())
}

// TestASlowConversionKeepsNobodyWaiting holds that other requests go on during a conversion, and
// that it ends after 30 seconds, in virtual time.
func TestASlowConversionKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := newHosts(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		v1, v2 := client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
		_, err := v2.Create(t.Context(), fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {address: "h:1"}}`), metav1.CreateOptions{})
		require.NoError(t, err)
		begin, done := time.Now(), make(chan error)
		go func() {
			_, err := v1.Patch(context.Background(), "a", types.MergePatchType, []byte(`{"spec":{"port":"2"}}`), metav1.PatchOptions{})
			done <- err
		}()
		synctest.Wait()
		_, err = v2.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"address":"h:3"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.Zero(t, time.Since(begin))
		require.ErrorContains(t, <-done, "conversion webhook for x.io/v2, Kind=Host failed")
		require.Equal(t, 30*time.Second, time.Since(begin))
	})
}

// TestConversionOverTLS holds that a webhook on loopback is called over TLS with the certificate of
// the definition, as envtest installs it, and that another certificate is refused.
func TestConversionOverTLS(t *testing.T) {
	webhook := &converter{}
	server := httptest.NewTLSServer(webhook)
	defer server.Close()
	for name, test := range map[string]struct {
		bundle []byte
		want   string
	}{
		"its certificate": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), ""},
		"another":         {otherCertificate(t), "x509: "},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
			crd := fields(t, hosts)
			require.NoError(t, unstructured.SetNestedMap(crd.Object, map[string]any{
				"url": server.URL + "/convert", "caBundle": base64.StdEncoding.EncodeToString(test.bundle)}, "spec", "conversion", "webhook", "clientConfig"))
			_, err := client.Resource(definitionKind).Create(t.Context(), crd, metav1.CreateOptions{})
			require.NoError(t, err)
			_, err = client.Resource(hostsV1).Namespace("default").Create(t.Context(),
				fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a}, spec: {host: h}}`), metav1.CreateOptions{})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			got, err := client.Resource(hostsV2).Namespace("default").Get(t.Context(), "a", metav1.GetOptions{})
			require.Equal(t, "h:80", specOf(t, got, err)["address"])
		})
	}
}

// otherCertificate is the certificate of another authority.
func otherCertificate(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
