package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRecordedSchemas checks that the schemas of stage/lab/apiserver are those of a kube-apiserver.
// With -record it writes them again.
func TestRecordedSchemas(t *testing.T) {
	const file = "../../../stage/lab/apiserver/openapi.json.gz"
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	require.NoError(t, json.Unmarshal(send(t, plane.Config(), httpRequest{Path: "/openapi/v3"}).body, &index))
	all := map[string]map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(index.Paths)) {
		if group := strings.Split(path, "/"); len(group) < 2 || isCustomGroup(group[1]) {
			continue
		}
		var doc struct {
			Components struct{ Schemas map[string]map[string]any }
		}
		require.NoError(t, json.Unmarshal(send(t, plane.Config(), httpRequest{Path: index.Paths[path].ServerRelativeURL}).body, &doc))
		for name, s := range doc.Components.Schemas {
			if strings.HasPrefix(name, "io.k8s.apimachinery.") {
				delete(s, "x-kubernetes-group-version-kind") // it names the groups of the document
			}
			all[name] = s
		}
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	if *record {
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
		return
	}
	data, err := os.Open(file)
	require.NoError(t, err)
	defer data.Close()
	r, err := gzip.NewReader(data)
	require.NoError(t, err)
	recorded, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, string(recorded) == string(text), "record the schemas anew: -run TestRecordedSchemas -record")
}

// TestRecordedColumns checks that the columns of stage/lab/apiserver are those of a kube-apiserver.
// With -record it writes them again.
func TestRecordedColumns(t *testing.T) {
	const file = "../../../stage/lab/apiserver/columns.json"
	columns := map[string][]metav1.TableColumnDefinition{}
	for _, v := range discoveredVersions(t) {
		for _, r := range v.Resources {
			if !isCustomGroup(v.group) && !unprinted[r.Resource] && slices.Contains(r.Verbs, "list") {
				columns[strings.TrimSuffix(r.Resource+"."+v.Version+"."+v.group, ".")] = columnsOf(t, v.group, v.Version, r.Resource)
			}
		}
	}
	text := columnLines(t, columns)
	if *record {
		require.NoError(t, os.WriteFile(file, text, 0o644))
		return
	}
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(recorded), string(text))
}

// A discoveredVersion is a group version that a kube-apiserver serves.
type discoveredVersion struct {
	group string
	discoveryv2.APIVersionDiscovery
}

func discoveredVersions(t *testing.T) (all []discoveredVersion) {
	for _, path := range []string{"/api", "/apis"} {
		var list discoveryv2.APIGroupDiscoveryList
		require.NoError(t, json.Unmarshal(send(t, plane.Config(), httpRequest{Path: path, Accept: aggregated}).body, &list))
		for _, g := range list.Items {
			for _, v := range g.Versions {
				all = append(all, discoveredVersion{g.Name, v})
			}
		}
	}
	return all
}

// unprinted are the resources that stage/lab/apiserver does not have.
var unprinted = map[string]bool{"componentstatuses": true}

// columnsOf asks a kube-apiserver for the columns of a resource.
func columnsOf(t *testing.T, group, version, resource string) []metav1.TableColumnDefinition {
	path := "/apis/" + group + "/" + version + "/" + resource
	if group == "" {
		path = "/api/" + version + "/" + resource
	}
	var table metav1.Table
	answer := send(t, plane.Config(), httpRequest{Path: path + "?limit=1", Accept: "application/json;as=Table;v=v1;g=meta.k8s.io"})
	require.NoError(t, json.Unmarshal(answer.body, &table))
	require.NotEmpty(t, table.ColumnDefinitions, "%s %s", path, answer.body)
	return table.ColumnDefinitions
}

// columnLines writes a resource on a line.
func columnLines(t *testing.T, columns map[string][]metav1.TableColumnDefinition) []byte {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(columns)) {
		data, err := json.Marshal(columns[key])
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%q: %s", key, data))
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// isCustomGroup reports whether other tests define a group.
func isCustomGroup(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}
