package e2e_test

import (
	"context"
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

// A definitionCase is an entry of testdata/definitions.yaml.
type definitionCase struct {
	Name     string
	Version  map[string]any // the version v1 of the definition, without its name
	Versions []any          // the others
	Requests []struct {
		Method, Path, Text   string
		ContentType, Compare string
		Body                 map[string]any
	}

	conversion map[string]any // spec.conversion; nil: none
}

// group is the group of the kind of a case. Cases of conversions have others: they run at the same time.
func (c definitionCase) group() string {
	of := ".definitions.example.com"
	if c.conversion != nil {
		of = ".conversions.example.com"
	}
	return strings.ReplaceAll(c.Name, " ", "-") + of
}

// definition is the definition of a case; nil if the case has no version.
func (c definitionCase) definition(t *testing.T) httpRequest {
	v1 := map[string]any{"name": "v1", "served": true, "storage": true}
	maps.Copy(v1, c.Version)
	spec := map[string]any{"group": c.group(), "scope": "Namespaced", "names": map[string]any{"plural": "things", "kind": "Thing", "shortNames": []any{"th"}}, "versions": append([]any{v1}, c.Versions...)}
	if c.conversion != nil {
		spec["conversion"] = c.conversion
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things." + c.group()}, "spec": spec})
	require.NoError(t, err)
	return httpRequest{Method: http.MethodPost, Path: definitionsPath, Body: string(body)}
}

// define makes the kind of a case, until the test ends.
func (c definitionCase) define(t *testing.T, config *rest.Config) {
	answer := send(t, config, c.definition(t))
	require.Equal(t, http.StatusCreated, answer.code, "%s", answer.body)
	list := httpRequest{Path: fmt.Sprintf("/apis/%s/v1/namespaces/default/things", c.group())}
	require.Eventually(t, func() bool { return send(t, config, list).code == http.StatusOK }, 10*time.Second, 20*time.Millisecond)
	t.Cleanup(func() {
		client, err := rest.HTTPClientFor(config)
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		path := strings.TrimSuffix(config.Host, "/") + definitionsPath + "/things." + c.group()
		r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, path, nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
	})
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// request is the i-th request of a case.
func (c definitionCase) request(t *testing.T, i int, namespace string) httpRequest {
	r := c.Requests[i]
	path, rest, _ := strings.Cut(r.Path, "/")
	path, query, hasQuery := strings.Cut(path, "?")
	if rest != "" {
		path += "/" + strings.ReplaceAll(rest, "NAME", "things."+c.group())
	}
	if hasQuery {
		path += "?" + query
	}
	kind, isDefinition := "Thing", strings.HasPrefix(path, "crd")
	version := "v1"
	if isDefinition {
		kind, path = "CustomResourceDefinition", definitionsPath+strings.TrimPrefix(path, "crd")
	} else {
		if _, after, isOther := strings.Cut(path, "@"); isOther {
			version = after[:strings.IndexFunc(after+"/", func(r rune) bool { return r == '/' || r == '?' })]
			path = strings.Replace(path, "@"+version, "", 1)
		}
		path = fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s", c.group(), version, namespace, path)
	}
	out := httpRequest{Method: r.Method, Path: path, Body: strings.ReplaceAll(r.Text, "GROUP", c.group()), ContentType: r.ContentType, Compare: r.Compare}
	if r.Method == "" {
		out.Method = http.MethodPost
	}
	if out.Method == http.MethodPatch && out.ContentType == "" {
		out.ContentType = "application/merge-patch+json"
	}
	if r.Body != nil {
		body := maps.Clone(r.Body)
		if out.Method != http.MethodPatch || strings.Contains(out.ContentType, "apply") {
			setDefault(body, "kind", kind)
			setDefault(body, "apiVersion", map[bool]string{true: "apiextensions.k8s.io/v1", false: c.group() + "/" + version}[isDefinition])
		}
		data, err := json.Marshal(body)
		require.NoError(t, err)
		out.Body = string(data)
	}
	return out
}

func setDefault(m map[string]any, field, value string) {
	if m[field] == nil {
		m[field] = value
	}
}

// TestDefinitions sends definitions and objects of their kinds to a kube-apiserver and to the server
// in memory, and compares the answers.
func TestDefinitions(t *testing.T) {
	var cases []definitionCase
	data, err := os.ReadFile("testdata/definitions.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), apiserver.Options{})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			namespace := "definitions-" + strings.ReplaceAll(c.Name, " ", "-")
			create := httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`}
			for _, config := range []*rest.Config{plane.Config(), ours} {
				send(t, config, create)
				if c.Version != nil {
					c.define(t, config)
				}
			}
			for i := range c.Requests {
				r := c.request(t, i, namespace)
				got := send(t, ours, r).comparable(t, r.Compare)
				theirs := send(t, plane.Config(), r).comparable(t, r.Compare)
				// kube-apiserver takes a while to see that a definition has changed.
				for end := time.Now().Add(3 * time.Second); got != theirs && isRepeatable(r, theirs) && time.Now().Before(end); {
					theirs = send(t, plane.Config(), r).comparable(t, r.Compare)
				}
				if got != theirs {
					t.Errorf("%d. %s %s %s\n  kube-apiserver: %s\n  ours:           %s", i, r.Method, r.Path, r.Body, theirs, got)
				}
			}
		})
	}
}

// isRepeatable reports whether a request can be sent again.
func isRepeatable(r httpRequest, answer string) bool {
	return r.Method == http.MethodGet || strings.Contains(r.Path, "dryRun=All") || strings.Contains(answer, `"status":`)
}
