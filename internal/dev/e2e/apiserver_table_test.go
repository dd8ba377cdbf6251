package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestTables stores the objects of testdata/tables.yaml, with their status, in a kube-apiserver and
// in memory, and compares their Tables.
func TestTables(t *testing.T) {
	const namespace = "tables"
	data, err := os.ReadFile("testdata/tables.yaml")
	require.NoError(t, err)
	ours := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{})
	create := httpRequest{Method: "POST", Path: "/api/v1/namespaces", Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`}
	resources := resourcesByKind(t)
	for _, config := range []*rest.Config{plane.Config(), ours} {
		send(t, config, create)
	}
	for _, text := range strings.Split(string(data), "\n---\n") {
		var u unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NS", namespace)), &u.Object), text)
		r := resources[u.GroupVersionKind().String()]
		t.Run(r.name+" "+u.GetName(), func(t *testing.T) {
			if u.GetKind() == "APIService" { // without a server it would fail the discovery of others
				defer send(t, plane.Config(), httpRequest{Method: "DELETE", Path: r.object(namespace, u.GetName())})
			}
			theirs := tableOf(t, plane.Config(), r, &u, namespace)
			var stored unstructured.Unstructured // with defaults
			require.NoError(t, json.Unmarshal(send(t, plane.Config(), httpRequest{Path: r.object(namespace, u.GetName())}).body, &stored.Object))
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(stored.Object, "metadata", field)
			}
			require.Equal(t, theirs, tableOf(t, ours, r, &stored, namespace))
		})
	}
}

type servedResource struct {
	name, path   string
	isNamespaced bool
	hasStatus    bool
}

// object is the path of an object.
func (r servedResource) object(namespace, name string) string {
	if r.isNamespaced {
		return r.path + "/namespaces/" + namespace + "/" + r.name + "/" + name
	}
	return r.path + "/" + r.name + "/" + name
}

// resourcesByKind lists the resources of a kube-apiserver.
func resourcesByKind(t *testing.T) map[string]servedResource {
	all := map[string]servedResource{}
	for _, g := range discoveredVersions(t) {
		for _, r := range g.Resources {
			s := servedResource{name: r.Resource, path: "/apis/" + g.group + "/" + g.Version, isNamespaced: r.Scope == "Namespaced"}
			if g.group == "" {
				s.path = "/api/" + g.Version
			}
			for _, sub := range r.Subresources {
				s.hasStatus = s.hasStatus || sub.Subresource == "status"
			}
			kind := metav1.GroupVersionKind{Group: g.group, Version: g.Version, Kind: r.ResponseKind.Kind}
			all[fmt.Sprintf("%s/%s, Kind=%s", kind.Group, kind.Version, kind.Kind)] = s
		}
	}
	return all
}

// tableOf creates an object, sets its status and returns its Table. Ages are masked.
func tableOf(t *testing.T, config *rest.Config, r servedResource, u *unstructured.Unstructured, namespace string) string {
	path := r.object(namespace, u.GetName())
	created := send(t, config, httpRequest{Method: "POST", Path: strings.TrimSuffix(path, "/"+u.GetName()), Body: jsonText(t, u.Object)})
	require.Equal(t, 201, created.code, string(created.body))
	if status, has := u.Object["status"]; has && r.hasStatus {
		body := jsonText(t, map[string]any{"status": status})
		written := send(t, config, httpRequest{Method: "PATCH", Path: path + "/status", Body: body, ContentType: "application/merge-patch+json"})
		require.Equal(t, 200, written.code, string(written.body))
	}
	var table metav1.Table
	answer := send(t, config, httpRequest{Path: path, Accept: "application/json;as=Table;v=v1;g=meta.k8s.io"})
	require.NoError(t, json.Unmarshal(answer.body, &table), string(answer.body))
	text := ""
	for _, row := range table.Rows {
		for i, cell := range row.Cells {
			name := "Age" // rows of IPAddresses have one cell more than there are columns
			if i < len(table.ColumnDefinitions) {
				name = table.ColumnDefinitions[i].Name
			}
			text += fmt.Sprintf("%s: %#v\n", name, cell)
		}
		text += jsonText(t, row.Conditions)
	}
	return tableAges.ReplaceAllString(text, "$1: AGE")
}

var tableAges = regexp.MustCompile(`(Age|Last Seen|First Seen|Created At|Selector): "?(\d+[smhdy]\d*[smhdy]?|\d{4}-\d\d-\d\dT[0-9:]+Z|batch.kubernetes.io/controller-uid=[-0-9a-f]+)"?`)

func jsonText(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
