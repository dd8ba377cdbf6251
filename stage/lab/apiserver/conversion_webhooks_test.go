package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A hostsWebhook admits Hosts: it writes down the objects that it gets, and patches them.
type hostsWebhook struct {
	seen  []string
	patch string // "" admits without a patch
}

func (h *hostsWebhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID, Operation            string
			Resource, RequestResource struct{ Version string }
			Object, OldObject         map[string]any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := review.Request
	h.seen = append(h.seen, fmt.Sprint(q.Operation, " ", q.RequestResource.Version, " as ", q.Resource.Version, " ", q.Object["apiVersion"], " ", q.Object["spec"], " was ", q.OldObject["spec"]))
	response := map[string]any{"uid": q.UID, "allowed": true}
	if h.patch != "" && q.Object != nil {
		response["patchType"], response["patch"] = "JSONPatch", []byte(h.patch)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

const admissionOfHosts = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: hosts}, webhooks: [{
  name: hosts.x.io, admissionReviewVersions: [v1], sideEffects: None, matchPolicy: POLICY, clientConfig: {url: "https://127.0.0.1:10/"},
  rules: [{apiGroups: [x.io], apiVersions: [v2], operations: [CREATE, UPDATE, DELETE], resources: [hosts]}]}]}`

// TestEquivalentAdmissionSeesConvertedObjects checks a webhook for v2 and requests in v1: with matchPolicy
// Equivalent it gets the objects in v2, and its patch reaches the object in v1; with Exact it is not
// called.
func TestEquivalentAdmissionSeesConvertedObjects(t *testing.T) {
	for policy, want := range map[string][]string{
		"Equivalent": {
			"CREATE v1 as v2 x.io/v2 map[address:h:80] was <nil>",
			"UPDATE v1 as v2 x.io/v2 map[address:h:81 replicas:7] was map[address:h:80 replicas:7]",
			"UPDATE v2 as v2 x.io/v2 map[address:g:1 replicas:7 tier:gold] was map[address:h:81 replicas:7 tier:gold]",
			"DELETE v1 as v2 <nil> <nil> was map[address:g:1 replicas:7]",
		},
		"Exact": {"UPDATE v2 as v2 x.io/v2 map[address:g:1 tier:gold] was map[address:h:81 tier:gold]"},
	} {
		t.Run(policy, func(t *testing.T) {
			webhook := &hostsWebhook{patch: `[{"op":"add","path":"/spec/replicas","value":7}]`}
			on := map[string]http.Handler{"127.0.0.1:9": &converter{}, "127.0.0.1:10": webhook}
			client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{Webhooks: func(host string) http.Handler { return on[host] }}))
			ctx, v1, v2 := t.Context(), client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
			_, err := client.Resource(definitionKind).Create(ctx, fields(t, hosts), metav1.CreateOptions{})
			require.NoError(t, err)
			configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
			_, err = client.Resource(configurations).Create(ctx, fields(t, strings.Replace(admissionOfHosts, "POLICY", policy, 1)), metav1.CreateOptions{})
			require.NoError(t, err)

			made, err := v1.Create(ctx, fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a}, spec: {host: h}}`), metav1.CreateOptions{})
			wanted := map[string]any{"host": "h", "port": "80"}
			if policy == "Equivalent" {
				wanted["copies"] = int64(7)
			}
			require.Equal(t, wanted, specOf(t, made, err))
			_, err = v1.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"port":"81"}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			patched, err := v2.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"address":"g:1"}}`), metav1.PatchOptions{})
			require.Equal(t, map[string]any{"address": "g:1", "tier": "gold", "replicas": int64(7)}, specOf(t, patched, err))
			require.NoError(t, v1.Delete(ctx, "a", metav1.DeleteOptions{}))
			require.Equal(t, want, webhook.seen)
		})
	}
}

// TestAnApplyToAWronglyConvertedObject checks the answer of kube-apiserver 1.36.3: reads pass, an apply does
// not.
func TestAnApplyToAWronglyConvertedObject(t *testing.T) {
	webhook := &converter{change: func(response map[string]any) {
		first := response["convertedObjects"].([]any)[0].(map[string]any)
		first["spec"] = map[string]any{"address": 1, "host": 1}
	}}
	client, _ := newHosts(t, webhook)
	v1, v2 := client.Resource(hostsV1).Namespace("default"), client.Resource(hostsV2).Namespace("default")
	_, err := v2.Create(t.Context(), fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {address: "h:1"}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = v1.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = v1.Apply(t.Context(), "a", fields(t, `{apiVersion: x.io/v1, kind: Host, metadata: {name: a}, spec: {host: g}}`), metav1.ApplyOptions{FieldManager: "one"})
	require.EqualError(t, err, "failed to create typed live object (default/a; x.io/v1, Kind=Host): .spec.host: expected string, got &value.valueUnstructured{Value:1}")
	_, err = v2.Apply(t.Context(), "a", fields(t, `{apiVersion: x.io/v2, kind: Host, metadata: {name: a}, spec: {tier: gold}}`), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
}
