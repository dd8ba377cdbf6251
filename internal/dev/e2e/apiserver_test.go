package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/contract"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestContractOverHTTP runs the scenarios of package contract on the server in memory, through
// client-go. Package stage/memory runs them directly, and TestContract on a kube-apiserver.
func TestContractOverHTTP(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Server {
		c := memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true})
		require.NoError(t, c.Load(t.Context(), []byte(contract.Definitions)))
		cluster, err := kube.NewForConfig(apiserver.Start(t, c, apiserver.Options{Bare: true}))
		require.NoError(t, err)
		return cluster
	})
}

// TestRecordedDiscovery checks that stage/lab/apiserver describes resources as a kube-apiserver
// does. With -record it writes the file again.
func TestRecordedDiscovery(t *testing.T) {
	const file = "../../../stage/lab/apiserver/discovery.json"
	var lines []string
	for _, path := range []string{"/api", "/apis"} {
		var list discoveryv2.APIGroupDiscoveryList
		require.NoError(t, json.Unmarshal(send(t, plane.Config(), httpRequest{Path: path, Accept: aggregated}).body, &list))
		for _, g := range list.Items {
			for _, v := range g.Versions {
				lines = append(lines, versionLine(t, g.Name, v))
			}
		}
	}
	if text := "[\n" + strings.Join(lines, ",\n") + "\n]\n"; *record {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	} else {
		recorded, err := os.ReadFile(file)
		require.NoError(t, err)
		requireSameJSON(t, string(recorded), text)
	}
}

// TestRecordedRoles checks that a server with roles begins with those of a new kube-apiserver. With
// -record it writes the file again.
func TestRecordedRoles(t *testing.T) {
	const file = "../../../stage/lab/apiserver/internal/rbac/bootstrap.json"
	var lines []string
	for _, resource := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		var list unstructured.UnstructuredList
		answer := send(t, plane.Config(), httpRequest{Path: "/apis/rbac.authorization.k8s.io/v1/" + resource + "?labelSelector=kubernetes.io/bootstrapping=rbac-defaults"})
		require.NoError(t, json.Unmarshal(answer.body, &list))
		for _, u := range list.Items {
			u.SetKind(strings.TrimSuffix(list.GetKind(), "List"))
			u.SetAPIVersion(list.GetAPIVersion())
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(u.Object, "metadata", field)
			}
			if rules, _, _ := unstructured.NestedSlice(u.Object, "rules"); len(rules) == 0 || u.Object["aggregationRule"] != nil {
				delete(u.Object, "rules") // a controller fills them in
			}
			lines = append(lines, jsonText(t, u.Object))
		}
	}
	if *record {
		require.NoError(t, os.WriteFile(file, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644))
		return
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var recorded []any
	require.NoError(t, json.Unmarshal(text, &recorded))
	known := map[string]bool{}
	for _, u := range recorded {
		known[jsonText(t, u)] = true
	}
	for _, line := range lines {
		require.True(t, known[line], line)
	}
	require.Len(t, recorded, len(lines))
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// versionLine is a group version with each of its resources on a line.
func versionLine(t *testing.T, group string, v discoveryv2.APIVersionDiscovery) string {
	var resources []string
	for _, r := range v.Resources {
		data, err := json.Marshal(r)
		require.NoError(t, err)
		resources = append(resources, "        "+string(data))
	}
	head, err := json.Marshal(group)
	require.NoError(t, err)
	return `    {"group": ` + string(head) + `, "version": "` + v.Version + "\", \"resources\": [\n" + strings.Join(resources, ",\n") + "\n    ]}"
}

// requireSameJSON compares texts without regard to the order of kinds that kube-apiserver defines
// itself by CustomResourceDefinitions of other tests.
func requireSameJSON(t *testing.T, recorded, now string) {
	var want, got []map[string]any
	require.NoError(t, json.Unmarshal([]byte(recorded), &want))
	require.NoError(t, json.Unmarshal([]byte(now), &got))
	for _, v := range want {
		require.True(t, slices.ContainsFunc(got, func(g map[string]any) bool {
			return g["group"] == v["group"] && g["version"] == v["version"]
		}), "%s/%s", v["group"], v["version"])
	}
	for _, g := range got {
		for _, v := range want {
			if g["group"] == v["group"] && g["version"] == v["version"] {
				require.Equal(t, v, g)
			}
		}
	}
}

// TestStorageVersionHashes compares what discovery says of how objects are stored.
func TestStorageVersionHashes(t *testing.T) {
	ours := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	hashes := func(config *rest.Config, path string) map[string]string {
		found := map[string]string{}
		answer := send(t, config, httpRequest{Path: path})
		if answer.code != http.StatusOK {
			return found // of a definition of another test
		}
		var list metav1.APIResourceList
		require.NoError(t, json.Unmarshal(answer.body, &list))
		for _, r := range list.APIResources {
			found[r.Name] = r.StorageVersionHash
		}
		return found
	}
	for _, g := range discoveredVersions(t) {
		path := "/apis/" + g.group + "/" + g.Version
		if g.group == "" {
			path = "/api/" + g.Version
		}
		theirs := hashes(plane.Config(), path)
		for name, hash := range hashes(ours, path) {
			assert.Equal(t, theirs[name], hash, "%s %s", path, name)
		}
	}
}

// An httpRequest is a request in testdata/http.yaml.
type httpRequest struct {
	Method, Path, Body           string
	Accept, ContentType, Compare string
	Headers                      map[string]string
}

type httpAnswer struct {
	code      int
	mediaType string
	warnings  []string
	body      []byte
}

// TestHTTP sends raw requests to a kube-apiserver and to the server in memory, and compares the
// answers.
func TestHTTP(t *testing.T) {
	compareHTTP(t, "testdata/http.yaml", apiserver.Options{})
}

// TestRolesOverHTTP does the same with users, whom both servers allow what their roles say.
func TestRolesOverHTTP(t *testing.T) {
	compareHTTP(t, "testdata/roles.yaml", apiserver.Options{RBAC: true, Bare: true})
}

// compareHTTP sends the requests of a file to both servers.
func compareHTTP(t *testing.T, file string, o apiserver.Options) {
	var cases []struct {
		Name     string
		Requests []httpRequest
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, &cases))
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true, RequireOwners: true}), o)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			namespace := "http-" + strings.ReplaceAll(c.Name, " ", "-")
			create := httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`}
			send(t, plane.Config(), create)
			send(t, ours, create)
			for _, r := range c.Requests {
				r.Path, r.Body = strings.ReplaceAll(r.Path, "NS", namespace), strings.ReplaceAll(r.Body, `"NS"`, `"`+namespace+`"`)
				theirs, got := send(t, plane.Config(), r).comparable(t, r.Compare), send(t, ours, r).comparable(t, r.Compare)
				// kube-apiserver takes a while to see new roles.
				for end := time.Now().Add(2 * time.Second); got != theirs && r.Method == "" && time.Now().Before(end); {
					time.Sleep(50 * time.Millisecond)
					theirs = send(t, plane.Config(), r).comparable(t, r.Compare)
				}
				if got != theirs {
					t.Errorf("%s %s %s\n  kube-apiserver: %s\n  ours:           %s", r.Method, r.Path, r.Accept, theirs, got)
				}
			}
		})
	}
}

func send(t *testing.T, config *rest.Config, r httpRequest) httpAnswer {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections) // not after each request: a new connection costs more than most answers
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, strings.TrimSuffix(config.Host, "/")+r.Path, strings.NewReader(r.Body))
	require.NoError(t, err)
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	// What is not modelled only the server in memory says.
	var warnings []string
	for _, text := range resp.Header.Values("Warning") {
		if !strings.Contains(text, ": not modelled: ") {
			warnings = append(warnings, text)
		}
	}
	return httpAnswer{resp.StatusCode, resp.Header.Get("Content-Type"), warnings, body}
}

var uids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// comparable returns the parts of an answer that must be equal, as text.
func (a httpAnswer) comparable(t *testing.T, how string) string {
	mediaType, parameters, err := mime.ParseMediaType(a.mediaType)
	require.NoError(t, err, "%q %s", a.mediaType, a.body)
	parts := map[string]any{"code": a.code, "type": mediaType, "parameters": parameters, "warnings": a.warnings}
	var fields map[string]any
	switch isObject := yaml.Unmarshal(a.body, &fields) == nil && fields != nil; {
	case how == "code":
	case !isObject:
		parts["text"] = string(a.body)
	case fields["kind"] == "Status":
		if details, ok := fields["details"].(map[string]any); ok {
			delete(details, "uid")
			sortCauses(fields, details)
		}
		lines := strings.Split(uids.ReplaceAllString(fmt.Sprint(fields["message"]), "UID"), "\n")
		slices.Sort(lines[1:]) // faults of types are found in no order
		fields["message"] = strings.Join(lines, "\n")
		delete(fields, "metadata")
		parts["status"] = fields
	case how == "object":
		if metadata, ok := fields["metadata"].(map[string]any); ok && metadata["uid"] == nil {
			delete(metadata, "managedFields") // of a review, which is not stored: see MISSING.md
		}
		dropTimes(fields)
		parts["object"] = fields
	default:
		parts["kind"], parts["apiVersion"] = fields["kind"], fields["apiVersion"]
	}
	text, err := json.Marshal(parts)
	require.NoError(t, err)
	return string(text)
}

// dropTimes removes fields that differ between servers from an object or a list, and nulls.
func dropTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["continue"] == "" { // lists of custom objects have the kind there
			delete(v, "continue")
		}
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "lastTransitionTime"} {
			if _, isObject := v[field].(map[string]any); !isObject {
				delete(v, field)
			}
		}
		if entries, ok := v["managedFields"].([]any); ok {
			dropEntryTimes(entries)
		}
		for field, e := range v {
			if dropTimes(e); e == nil {
				delete(v, field)
			}
		}
	case []any:
		for _, e := range v {
			dropTimes(e)
		}
	}
}

// dropEntryTimes removes the times of managedFields, and the order that depends on them.
func dropEntryTimes(entries []any) {
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			delete(entry, "time")
		}
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// sortCauses sorts the causes of a refusal, which kube-apiserver returns in any order.
func sortCauses(status, details map[string]any) {
	causes, _ := details["causes"].([]any)
	for _, c := range causes {
		cause := c.(map[string]any)
		cause["message"] = uids.ReplaceAllString(fmt.Sprint(cause["message"]), "UID")
	}
	if len(causes) < 2 {
		return
	}
	slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	status["message"], _, _ = strings.Cut(fmt.Sprint(status["message"]), "[") // it lists them again
}
