package harnesses_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const pots = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pots.x.io}, spec: {group: x.io, scope: Namespaced,
  names: {plural: pots, kind: Pot}, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:9/"}}}, versions: [
  {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {liters: {type: integer}}}}}}},
  {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {milliliters: {type: integer}}}}}}}]}}`

// convertPot changes a Pot to the other version.
func convertPot(obj *unstructured.Unstructured, to string) {
	if spec, _ := obj.Object["spec"].(map[string]any); len(spec) > 0 {
		liters, _ := spec["liters"].(int64)
		milliliters, _ := spec["milliliters"].(int64)
		obj.Object["spec"] = map[string]any{"milliliters": liters * 1000}
		if to == "x.io/v1" {
			obj.Object["spec"] = map[string]any{"liters": milliliters / 1000}
		}
	}
	obj.SetAPIVersion(to)
}

func convertPots(_ context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
	for _, obj := range c.Objects {
		convertPot(obj, c.APIVersion)
	}
	return c.Objects, nil
}

// answerPots is the conversion webhook of Pots.
func answerPots(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	to, _, _ := unstructured.NestedString(review, "request", "desiredAPIVersion")
	uid, _, _ := unstructured.NestedString(review, "request", "uid")
	objects, _, _ := unstructured.NestedFieldNoCopy(review, "request", "objects")
	converted := []any{}
	for _, o := range objects.([]any) {
		data, _ := json.Marshal(o)
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(data); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		convertPot(obj, to)
		converted = append(converted, obj.Object)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review["apiVersion"], "kind": review["kind"], "response": map[string]any{
		"uid": uid, "convertedObjects": converted, "result": map[string]any{"status": "Success"}}})
}

// A reader returns the Pot with the name a in a version.
type reader func(version string) (*unstructured.Unstructured, error)

func readOn(c *memory.Cluster) reader {
	return func(version string) (*unstructured.Unstructured, error) {
		return c.Get(context.Background(), schema.GroupVersionKind{Group: "x.io", Version: version, Kind: "Pot"}, types.NamespacedName{Namespace: "default", Name: "a"})
	}
}

// TestConversionsAct checks that a Pot which is written in one version is read in both: in a lab and
// a hunt by a Go function, on a server by a webhook.
func TestConversionsAct(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(creator, reader)){
		"lab": func(t *testing.T, test func(creator, reader)) {
			c := labtest.New(t, labtest.Options{Strict: true, Convert: convertPots}).Cluster()
			test(onCluster(c), readOn(c))
		},
		"hunt": func(t *testing.T, test func(creator, reader)) {
			runs := 0
			_, err := hunt.Play(hunt.Options{Lab: labtest.Options{Convert: convertPots}}, func(r *hunt.Run) {
				runs++
				r.Process("operator", func(*hunt.Process) []reconcile.Controller {
					return []reconcile.Controller{{Name: "nothing", For: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
						Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }}}
				})
				test(onCluster(r.Cluster()), readOn(r.Cluster()))
			}, hunt.Plan{})
			require.NoError(t, err)
			require.Positive(t, runs)
		},
		"server": func(t *testing.T, test func(creator, reader)) {
			client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{
				Webhooks: func(string) http.Handler { return http.HandlerFunc(answerPots) }}))
			in := func(obj *unstructured.Unstructured) dynamic.ResourceInterface {
				if obj.GetKind() == "CustomResourceDefinition" {
					return client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
				}
				return client.Resource(obj.GroupVersionKind().GroupVersion().WithResource("pots")).Namespace("default")
			}
			test(func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				return in(obj).Create(t.Context(), obj, metav1.CreateOptions{})
			}, func(version string) (*unstructured.Unstructured, error) {
				pot := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.io/" + version, "kind": "Pot"}}
				return in(pot).Get(t.Context(), "a", metav1.GetOptions{})
			})
		},
	} {
		t.Run(name, func(t *testing.T) { run(t, func(create creator, read reader) { checkPots(t, create, read) }) })
	}
}

func checkPots(t *testing.T, create creator, read reader) {
	_, err := create(object(t, pots))
	require.NoError(t, err)
	pot, err := create(object(t, `{apiVersion: x.io/v1, kind: Pot, metadata: {namespace: default, name: a}, spec: {liters: 3}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"liters": int64(3)}, pot.Object["spec"])
	for version, spec := range map[string]map[string]any{"v1": {"liters": int64(3)}, "v2": {"milliliters": int64(3000)}} {
		pot, err := read(version)
		require.NoError(t, err)
		require.Equal(t, spec, pot.Object["spec"])
	}
}
