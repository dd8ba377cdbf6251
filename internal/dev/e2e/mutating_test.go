package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

// A mutatingCase is an entry of testdata/mutating.yaml.
type mutatingCase struct {
	Name     string
	Policies map[string]map[string]any   // specs by name
	Bindings map[string][]map[string]any // specs by the policy's name
	Requests []struct {
		Path string
		Body map[string]any
	}
}

const mutatingPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"

// kindsOfCases are the kinds of the paths in the table.
var kindsOfCases = map[string]struct{ path, version, kind string }{
	"configmaps":  {"/api/v1/namespaces/NS/configmaps", "v1", "ConfigMap"},
	"secrets":     {"/api/v1/namespaces/NS/secrets", "v1", "Secret"},
	"deployments": {"/apis/apps/v1/namespaces/NS/deployments", "apps/v1", "Deployment"},
	"policies":    {mutatingPath, "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"},
	"bindings":    {strings.TrimSuffix(mutatingPath, "ies") + "ybindings", "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"},
}

// post is a request that creates an object of a kind.
func (c mutatingCase) post(t *testing.T, resource string, body map[string]any) httpRequest {
	k := kindsOfCases[resource]
	body = maps.Clone(body)
	body["apiVersion"], body["kind"] = k.version, k.kind
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return httpRequest{Method: http.MethodPost, Path: strings.ReplaceAll(k.path, "NS", c.namespace()), Body: string(data), Compare: "object"}
}

func (c mutatingCase) namespace() string { return "mutating-" + strings.ReplaceAll(c.Name, " ", "-") }

// setUp makes the namespace, the policies and the bindings. The bindings are about this namespace only, so they may stay.
func (c mutatingCase) setUp(t *testing.T, config *rest.Config) {
	made := func(r httpRequest) {
		answer := send(t, config, r)
		require.Equal(t, http.StatusCreated, answer.code, "%s %s", r.Body, answer.body)
	}
	made(httpRequest{Method: http.MethodPost, Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + c.namespace() + `"}}`})
	send(t, config, httpRequest{Method: http.MethodPost, Path: "/api/v1/namespaces/default/configmaps", Body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"values"},"data":{"value":"given"}}`})
	for name, spec := range c.Policies {
		full := map[string]any{"reinvocationPolicy": "Never", "matchConstraints": map[string]any{"resourceRules": []any{
			map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps"}}}}}
		maps.Copy(full, spec)
		made(c.post(t, "policies", map[string]any{"metadata": map[string]any{"name": c.namespace() + "-" + name}, "spec": full}))
		for i, binding := range c.Bindings[name] {
			full := map[string]any{"policyName": c.namespace() + "-" + name, "matchResources": map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": c.namespace()}}}}
			maps.Copy(full, binding)
			made(c.post(t, "bindings", map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("%s-%s-%d", c.namespace(), name, i)}, "spec": full}))
		}
	}
}

// TestMutatingPolicies sends MutatingAdmissionPolicies, and objects that they change, to a
// kube-apiserver and to the server in memory, and compares the answers.
func TestMutatingPolicies(t *testing.T) {
	var cases []mutatingCase
	data, err := os.ReadFile("testdata/mutating.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			c.setUp(t, plane.Config())
			c.setUp(t, ours)
			for _, given := range c.Requests {
				r := c.post(t, given.Path, given.Body)
				r.Path += "?dryRun=All"
				got := send(t, ours, r).comparable(t, r.Compare)
				theirs := send(t, plane.Config(), r).comparable(t, r.Compare)
				// kube-apiserver takes a while to see policies and parameters.
				for end := time.Now().Add(10 * time.Second); got != theirs && len(c.Policies) > 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					theirs = send(t, plane.Config(), r).comparable(t, r.Compare)
				}
				if got != theirs {
					t.Errorf("%s %s %s\n  kube-apiserver: %s\n  ours:           %s", r.Method, r.Path, r.Body, theirs, got)
				}
			}
		})
	}
}
