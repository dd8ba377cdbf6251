package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An admittedThings is a mutating webhook for Things in v2, which writes down what it gets and sets
// spec.replicas.
type admittedThings struct {
	mu   sync.Mutex
	seen []string
}

func (a *admittedThings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	a.mu.Lock()
	a.seen = append(a.seen, fmt.Sprint(q.Operation, " ", q.RequestResource.Version, " as ", q.Resource.Version, " ", q.Object["apiVersion"], " ", q.Object["spec"], " was ", q.OldObject["spec"]))
	a.mu.Unlock()
	response := map[string]any{"uid": q.UID, "allowed": true}
	if q.Object != nil {
		response["patchType"], response["patch"] = "JSONPatch", []byte(`[{"op":"add","path":"/spec/replicas","value":7}]`)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

// TestAdmissionOfConvertedObjects compares what a webhook for one version gets of requests in another one,
// by each matchPolicy, and what becomes of its patches.
func TestAdmissionOfConvertedObjects(t *testing.T) {
	conversion := httptest.NewTLSServer(http.HandlerFunc(serveConversion))
	defer conversion.Close()
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{})
	for _, policy := range []string{"Equivalent", "Exact"} {
		t.Run(policy, func(t *testing.T) {
			var seen [2][]string
			var answers [2]string
			for i, config := range []*rest.Config{plane.Config(), ours} {
				seen[i], answers[i] = admitThings(t, config, policy, conversion)
			}
			require.Equal(t, seen[0], seen[1])
			require.Equal(t, answers[0], answers[1])
		})
	}
}

// admitThings sends the requests to a server, and returns what the webhook has got, and the answers.
func admitThings(t *testing.T, config *rest.Config, policy string, conversion *httptest.Server) (seen []string, answers string) {
	webhook := &admittedThings{}
	admission := httptest.NewTLSServer(webhook)
	t.Cleanup(admission.Close)
	clientConfig := func(s *httptest.Server, path string) map[string]any {
		return map[string]any{"url": s.URL + path, "caBundle": base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))}
	}
	c := conversionNamed(t, "versions").definitionCase
	c.Name = "admission " + strings.ToLower(policy)
	c.conversion = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []string{"v1"}, "clientConfig": clientConfig(conversion, "/convert")}}
	c.define(t, config)
	path := "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	configuration, err := json.Marshal(map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": "things-" + strings.ToLower(policy)}, "webhooks": []any{map[string]any{
		"name": "things.example.com", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "matchPolicy": policy, "clientConfig": clientConfig(admission, "/"),
		"rules": []any{map[string]any{"apiGroups": []string{c.group()}, "apiVersions": []string{"v2"}, "operations": []string{"*"}, "resources": []string{"things"}}},
	}}})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, send(t, config, httpRequest{Method: http.MethodPost, Path: path, Body: string(configuration)}).code)
	t.Cleanup(func() {
		send(t, config, httpRequest{Method: http.MethodDelete, Path: path + "/things-" + strings.ToLower(policy)})
	})

	things := func(version string) string {
		return "/apis/" + c.group() + "/" + version + "/namespaces/default/things"
	}
	body := func(name, version, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"%s/%s","kind":"Thing","metadata":{"name":"%s"},"spec":%s}`, c.group(), version, name, spec)
	}
	require.Eventually(t, func() bool { // the configuration takes effect some time later
		answer := send(t, config, httpRequest{Method: http.MethodPost, Path: things("v2") + "?dryRun=All", Body: body("probe", "v2", `{"address":"h:1"}`)})
		return answer.code == http.StatusCreated && strings.Contains(string(answer.body), `"replicas":7`) || strings.Contains(string(answer.body), "dryRun")
	}, 10*time.Second, 50*time.Millisecond)
	webhook.seen = nil
	for _, r := range []httpRequest{
		{Method: http.MethodPost, Path: things("v1"), Body: body("a", "v1", `{"host":"h"}`)},
		{Method: http.MethodPatch, Path: things("v1") + "/a", ContentType: "application/merge-patch+json", Body: `{"spec":{"port":"81"}}`},
		{Method: http.MethodPatch, Path: things("v2") + "/a", ContentType: "application/merge-patch+json", Body: `{"spec":{"address":"g:1"}}`},
		{Method: http.MethodPatch, Path: things("v1") + "/a?fieldManager=m", ContentType: "application/apply-patch+yaml", Body: body("a", "v1", `{"copies":3}`)},
		{Path: things("v1") + "/a"},
		{Path: things("v2") + "/a"},
		{Method: http.MethodDelete, Path: things("v1") + "/a"},
	} {
		r.Compare = "object"
		answers += send(t, config, r).comparable(t, r.Compare) + "\n"
	}
	return slices.Clone(webhook.seen), answers
}

// conversionNamed returns a case of testdata/conversions.yaml.
func conversionNamed(t *testing.T, name string) conversionCase {
	cases := conversionCases(t)
	i := slices.IndexFunc(cases, func(c conversionCase) bool { return c.Name == name })
	require.NotEqual(t, -1, i)
	return cases[i]
}
