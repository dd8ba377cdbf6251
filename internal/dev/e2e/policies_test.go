package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A policyCase is an entry of testdata/policies.yaml.
type policyCase struct {
	Name     string
	Policies map[string]map[string]any   // specs by name, which gets the prefix of the case
	Bindings map[string][]map[string]any // specs by the name of the policy
	Before   []policyRequest             // sent before there are policies
	Requests []policyRequest
}

type policyRequest struct {
	Method, Path, ContentType, Compare string
	Body                               map[string]any
}

const policiesPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"

func (c policyCase) id() string { return strings.ReplaceAll(c.Name, " ", "-") }

// objects are the requests that create the policies and bindings of a case. A policy without rules
// is about ConfigMaps. A binding without a selector is about the namespace of the case.
func (c policyCase) objects(t *testing.T) (all []httpRequest) {
	add := func(path, kind, name string, spec map[string]any) {
		body := map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
		data, err := json.Marshal(body)
		require.NoError(t, err)
		all = append(all, httpRequest{Method: http.MethodPost, Path: policiesPath + path, Body: strings.ReplaceAll(string(data), "NS", "policies-"+c.id())})
	}
	for name, spec := range c.Policies {
		if spec["matchConstraints"] == nil {
			spec["matchConstraints"] = map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"*"}, "operations": []any{"*"}, "resources": []any{"configmaps"}}}}
		}
		add("ies", "ValidatingAdmissionPolicy", c.id()+"-"+name, spec)
	}
	for name, specs := range c.Bindings {
		for i, spec := range specs {
			spec["policyName"] = c.id() + "-" + name
			if spec["matchResources"] == nil {
				spec["matchResources"] = map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "policies-" + c.id()}}}
			}
			if spec["validationActions"] == nil {
				spec["validationActions"] = []any{"Deny"}
			}
			add("ybindings", "ValidatingAdmissionPolicyBinding", c.id()+"-"+name+string(rune('a'+i)), spec)
		}
	}
	return all
}

// request is a request of a case. A path without a leading slash is that of a ConfigMap.
func (c policyCase) request(t *testing.T, r policyRequest) httpRequest {
	path := strings.ReplaceAll(r.Path, "NS", "policies-"+c.id())
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/namespaces/policies-" + c.id() + "/configmaps" + path
	}
	out := httpRequest{Method: r.Method, Path: path, ContentType: r.ContentType, Compare: r.Compare}
	if r.Method == "" {
		out.Method = http.MethodPost
	}
	if out.Method == http.MethodPatch && out.ContentType == "" {
		out.ContentType = "application/merge-patch+json"
	}
	if r.Body == nil {
		return out
	}
	if out.Method != http.MethodPatch {
		setDefault(r.Body, "apiVersion", "v1")
		setDefault(r.Body, "kind", "ConfigMap")
	}
	data, err := json.Marshal(r.Body)
	require.NoError(t, err)
	out.Body = strings.ReplaceAll(string(data), "NS", "policies-"+c.id())
	return out
}

// TestPolicies creates ValidatingAdmissionPolicies in a kube-apiserver and in memory, and compares the
// answers to requests that they are about.
func TestPolicies(t *testing.T) {
	var cases []policyCase
	data, err := os.ReadFile("testdata/policies.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{Bare: true}) // as there: no controller checks the types of policies
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, config := range []*rest.Config{plane.Config(), ours} {
				c.prepare(t, config)
			}
			for i, r := range c.Requests {
				r := c.request(t, r)
				got := send(t, ours, r).comparable(t, r.Compare)
				theirs := send(t, plane.Config(), r).comparable(t, r.Compare)
				// kube-apiserver takes a while to see that a policy has changed.
				for end := time.Now().Add(2 * time.Second); got != theirs && isRepeatable(r, theirs) && time.Now().Before(end); {
					time.Sleep(50 * time.Millisecond)
					theirs = send(t, plane.Config(), r).comparable(t, r.Compare)
				}
				if got != theirs {
					t.Errorf("%d. %s %s %s\n  kube-apiserver: %s\n  ours:           %s", i, r.Method, r.Path, r.Body, theirs, got)
				}
			}
		})
	}
}

// prepare creates the namespace of a case and its objects, and deletes objects that would affect
// other cases.
func (c policyCase) prepare(t *testing.T, config *rest.Config) {
	send(t, config, httpRequest{Method: http.MethodPost, Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"policies-` + c.id() + `","labels":{"team":"blue"}}}`})
	for _, r := range c.Before {
		answer := send(t, config, c.request(t, r))
		require.Equal(t, http.StatusCreated, answer.code, "%s", answer.body)
	}
	for _, r := range c.objects(t) {
		answer := send(t, config, r)
		require.Equal(t, http.StatusCreated, answer.code, "%s %s", r.Body, answer.body)
		var created struct{ Metadata struct{ Name string } }
		require.NoError(t, json.Unmarshal(answer.body, &created))
		t.Cleanup(func() {
			// The context of the test has ended, with which send asks.
			deleteObject(t, config, r.Path+"/"+created.Metadata.Name)
		})
	}
}

// deleteObject deletes an object after a test.
func deleteObject(t *testing.T, config *rest.Config, path string) {
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodDelete, strings.TrimSuffix(config.Host, "/")+path, http.NoBody) //nolint:noctx // the test's has ended
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
}
