package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// answersOfWebhooks are the actions of webhooks, by path.
var answersOfWebhooks = map[string]func(r *admissionv1.AdmissionRequest, suffix string) *admissionv1.AdmissionResponse{
	"/allow": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse { return allowed() },
	"/deny": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "not here"}}
	},
	"/code": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "too many", Code: 429, Reason: metav1.StatusReasonTooManyRequests, Details: &metav1.StatusDetails{RetryAfterSeconds: 3}}}
	},
	"/silent": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{}
	},
	"/warn": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		a := allowed()
		a.Warnings = []string{"take care", `of "this"`}
		return a
	},
	"/uid": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{UID: "another", Allowed: true}
	},
	"/label": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/metadata/annotations","value":{"seen":"yes"}}]`)
	},
	"/bad-patch": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse { return patch(`{`) },
	"/failing-patch": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"remove","path":"/none"}]`)
	},
	"/sidecar": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"s"}}]`)
	},
	"/spec": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/spec/more","value":1},{"op":"add","path":"/spec/unknown","value":1}]`)
	},
	"/append": func(r *admissionv1.AdmissionRequest, suffix string) *admissionv1.AdmissionResponse {
		var seen struct{ Data map[string]string }
		if err := json.Unmarshal(r.Object.Raw, &seen); err != nil {
			panic(err)
		}
		return patch(fmt.Sprintf(`[{"op":"add","path":"/data/calls","value":%q}]`, seen.Data["calls"]+suffix))
	},
	"/replicas": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"replace","path":"/spec/replicas","value":5}]`)
	},
	"/target": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"replace","path":"/target/name","value":"another"}]`)
	},
	"/dry": func(*admissionv1.AdmissionRequest, string) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/deleteOptions","value":{"dryRun":["All"]}}]`)
	},
	"/describe": describe,
}

func allowed() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

func patch(text string) *admissionv1.AdmissionResponse {
	a := allowed()
	a.Patch, a.PatchType = []byte(text), new(admissionv1.PatchTypeJSONPatch)
	return a
}

// describe refuses a request with a description of the request, unless its object has a label.
func describe(r *admissionv1.AdmissionRequest, _ string) *admissionv1.AdmissionResponse {
	told := map[string]any{}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(data, &told); err != nil {
		panic(err)
	}
	if object, _ := told["object"].(map[string]any); object != nil {
		labels, _ := object["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels["silent"] != nil {
			return allowed()
		}
	}
	delete(told, "uid")
	delete(told, "userInfo")
	if options, _ := told["options"].(map[string]any); options["fieldManager"] == "Go-http-client" {
		delete(options, "fieldManager") // the client has not named it
	}
	dropTimes(told)
	if data, err = json.Marshal(told); err != nil {
		panic(err)
	}
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: string(data)}}
}

// serveWebhook is the server of all webhooks.
func serveWebhook(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/broken":
		http.Error(w, "no", http.StatusInternalServerError)
		return
	case "/garbage":
		_, _ = io.WriteString(w, "garbage")
		return
	case "/slow":
		_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not notice that the client has left
		<-r.Context().Done()
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := strings.TrimRight(r.URL.Path, "123")
	response := answersOfWebhooks[name](review.Request, strings.TrimPrefix(r.URL.Path, name))
	if response.UID == "" {
		response.UID = review.Request.UID
	}
	review.Response, review.Request = response, nil
	_ = json.NewEncoder(w).Encode(review)
}

func (a *httpAnswer) String() string { return string(a.body) }

// A webhookCase is an entry of testdata/webhooks.yaml.
type webhookCase struct {
	Name                 string
	Definition           bool
	Mutating, Validating []map[string]any
	Requests             []struct {
		Method, Path, ContentType, Compare string
		Body                               map[string]any
	}
}

// configure creates the configurations of a case on a server, and waits until they have effect.
func (c webhookCase) configure(t *testing.T, config *rest.Config, server *httptest.Server) {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	id := strings.ReplaceAll(c.Name, " ", "-")
	for kind, webhooks := range map[string][]map[string]any{"Mutating": c.Mutating, "Validating": c.Validating} {
		marker := map[string]any{"name": "marker.example.com", "path": "/deny", "objectSelector": map[string]any{"matchLabels": map[string]any{"marker": kind}},
			"rules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"}}}}
		var all []any
		for _, w := range append(webhooks, marker) {
			full := map[string]any{"failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 2, "admissionReviewVersions": []any{"v1"}}
			maps.Copy(full, w)
			full["clientConfig"] = map[string]any{"url": server.URL + full["path"].(string), "caBundle": base64.StdEncoding.EncodeToString(ca)}
			delete(full, "path")
			if full["namespaceSelector"] == nil {
				full["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "webhooks-" + id}}
			}
			all = append(all, full)
		}
		path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "webhookconfigurations"
		body, err := json.Marshal(map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": map[string]any{"name": id}, "webhooks": all})
		require.NoError(t, err)
		answer := send(t, config, httpRequest{Method: http.MethodPost, Path: path, Body: string(body)})
		require.Equal(t, http.StatusCreated, answer.code, "%s", answer.body)
		probe := httpRequest{Method: http.MethodPost, Path: "/api/v1/namespaces/webhooks-" + id + "/configmaps?dryRun=All",
			Body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"marker","labels":{"marker":"` + kind + `"}}, "data": {"none": "x"}}`}
		require.Eventually(t, func() bool {
			answer = send(t, config, probe)
			return answer.code == http.StatusBadRequest
		}, 10*time.Second, 50*time.Millisecond, "%s: %s", config.Host, &answer)
	}
}

// release deletes the configurations of a case.
func (c webhookCase) release(t *testing.T, config *rest.Config) {
	for _, kind := range []string{"mutating", "validating"} {
		send(t, config, httpRequest{Method: http.MethodDelete, Path: "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations/" + strings.ReplaceAll(c.Name, " ", "-")})
	}
}

func (c webhookCase) request(t *testing.T, i int, namespace string) httpRequest {
	r := c.Requests[i]
	out := httpRequest{Method: r.Method, Path: strings.ReplaceAll(r.Path, "NS", namespace), ContentType: r.ContentType, Compare: r.Compare}
	if r.Method == "" {
		out.Method = http.MethodPost
	}
	if out.Method == http.MethodPatch && out.ContentType == "" {
		out.ContentType = "application/merge-patch+json"
	}
	if r.Body != nil {
		body := maps.Clone(r.Body)
		if out.Method != http.MethodPatch {
			setDefault(body, "apiVersion", "v1")
		}
		data, err := json.Marshal(body)
		require.NoError(t, err)
		out.Body = string(data)
	}
	return out
}

const webhookThings = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.webhooks.example.com"},"spec":{"group":"webhooks.example.com","scope":"Namespaced",
 "names":{"plural":"things","kind":"Thing"},"versions":[
 {"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"},"more":{"type":"integer"},"default":{"type":"integer","default":7}}},"status":{"type":"object","properties":{"b":{"type":"integer"}}}}}}},
 {"name":"v2","served":true,"storage":false,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// TestWebhooks has the same webhooks for a kube-apiserver and for the server in memory. It compares
// the answers, and the requests that the webhooks get.
func TestWebhooks(t *testing.T) {
	var cases []webhookCase
	data, err := os.ReadFile("testdata/webhooks.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	server := httptest.NewTLSServer(http.HandlerFunc(serveWebhook))
	defer server.Close()
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			namespace := "webhooks-" + strings.ReplaceAll(c.Name, " ", "-")
			for _, config := range []*rest.Config{plane.Config(), ours} {
				send(t, config, httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`})
				if c.Definition {
					send(t, config, httpRequest{Method: "POST", Path: definitionsPath, Body: webhookThings})
					defer send(t, config, httpRequest{Method: "DELETE", Path: definitionsPath + "/things.webhooks.example.com"})
					list := httpRequest{Path: "/apis/webhooks.example.com/v2/things"}
					require.Eventually(t, func() bool { return send(t, config, list).code == http.StatusOK }, 10*time.Second, 20*time.Millisecond)
				}
				c.configure(t, config, server)
				defer c.release(t, config)
			}
			for i := range c.Requests {
				r := c.request(t, i, namespace)
				theirs, got := send(t, plane.Config(), r).comparable(t, r.Compare), send(t, ours, r).comparable(t, r.Compare)
				if got != theirs {
					t.Errorf("%d. %s %s %s\n  kube-apiserver: %s\n  ours:           %s", i, r.Method, r.Path, r.Body, theirs, got)
				}
			}
		})
	}
}
