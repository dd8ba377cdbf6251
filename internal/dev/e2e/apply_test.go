package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An applyCase is an entry of testdata/apply.yaml.
type applyCase struct {
	Name     string
	Schema   map[string]any // of a kind Thing that the case defines
	Requests []struct {
		Method, Path, By, Text string
		ContentType, Compare   string
		Body                   map[string]any
	}
}

// kindsByResource are the kinds of the paths in the table.
var kindsByResource = map[string]string{
	"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service", "pods": "Pod", "deployments": "Deployment", "statefulsets": "StatefulSet", "cronjobs": "CronJob",
	"roles": "Role", "networkpolicies": "NetworkPolicy", "horizontalpodautoscalers": "HorizontalPodAutoscaler", "poddisruptionbudgets": "PodDisruptionBudget", "things": "Thing",
}

// definition is the definition of the kind Thing.
func (c applyCase) definition() definitionCase {
	return definitionCase{Name: "apply " + c.Name, Version: map[string]any{
		"schema": map[string]any{"openAPIV3Schema": c.Schema}, "subresources": map[string]any{"status": map[string]any{}}}}
}

// request is the i-th request of a case.
func (c applyCase) request(t *testing.T, i int, namespace string) httpRequest {
	r := c.Requests[i]
	path, query, _ := strings.Cut(r.Path, "?")
	if strings.HasPrefix(path, "things") {
		path = c.definition().group() + "/v1/" + path
	}
	parts := strings.Split(path, "/")
	at, version := 1, parts[0]
	if parts[0] != "v1" {
		at, version = 2, parts[0]+"/"+parts[1]
	}
	prefix := "/apis/"
	if at == 1 {
		prefix = "/api/"
	}
	out := httpRequest{Method: r.Method, Path: prefix + version + "/namespaces/" + namespace + "/" + strings.Join(parts[at:], "/"), Body: r.Text, ContentType: r.ContentType, Compare: r.Compare}
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	if out.Method == "" {
		out.Method, out.ContentType = http.MethodPatch, "application/apply-patch+yaml"
		if r.By != "" {
			values.Set("fieldManager", r.By)
		}
	}
	if out.Path += "?" + values.Encode(); out.Compare == "" {
		out.Compare = "object"
	}
	if r.Body != nil {
		out.Body = completed(t, r.Body, version, kindsByResource[parts[at]], parts[at+1:])
	}
	return out
}

// completed is a body with the kind and the name of its path.
func completed(t *testing.T, body map[string]any, version, kind string, name []string) string {
	metadata, _ := body["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		body["metadata"] = metadata
	}
	for field, value := range map[string]string{"apiVersion": version, "kind": kind} {
		if body[field] == nil {
			body[field] = value
		}
	}
	if len(name) > 0 {
		metadata["name"] = name[0]
	}
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return string(data)
}

// TestApply sends server-side applies, and writes before and after them, to a kube-apiserver and to the
// server in memory, and compares the objects with their managedFields.
func TestApply(t *testing.T) {
	var cases []applyCase
	data, err := os.ReadFile("testdata/apply.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			namespace := "apply-" + strings.ReplaceAll(c.Name, " ", "-")
			for _, config := range []*rest.Config{plane.Config(), ours} {
				send(t, config, httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`})
				if c.Schema != nil {
					c.definition().define(t, config)
				}
			}
			for i := range c.Requests {
				r := c.request(t, i, namespace)
				theirs := send(t, plane.Config(), r).comparable(t, r.Compare)
				if got := send(t, ours, r).comparable(t, r.Compare); got != theirs {
					t.Errorf("%s %s %s\n  kube-apiserver: %s\n  ours:           %s", r.Method, r.Path, r.Body, theirs, got)
				}
			}
		})
	}
}
