package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordedSchemas holds that the schemas of stage/apiserver are those of a kube-apiserver. With
// -record they are written anew.
func TestRecordedSchemas(t *testing.T) {
	const file = "../../../stage/apiserver/openapi.json.gz"
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

// isCustomGroup reports whether a group is one that other tests define.
func isCustomGroup(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}
