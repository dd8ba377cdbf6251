package apiserver

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // openapi.json.gz
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openapiText is the schemas of kube-apiserver 1.36.3, recorded by internal/dev/e2e: a JSON object
// by name.
//
//go:embed openapi.json.gz
var openapiText []byte

// recordedSchemas returns the schemas of built-in kinds by name. They must not be changed.
var recordedSchemas = sync.OnceValue(func() (schemas map[string]map[string]any) {
	r, err := gzip.NewReader(bytes.NewReader(openapiText))
	if err == nil {
		err = json.NewDecoder(r).Decode(&schemas)
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return schemas
})

// recordedHash tells the recorded schemas of this version from those of others.
var recordedHash = sync.OnceValue(func() string { return fmt.Sprintf("%X", sha256.Sum256(openapiText)) })

// serveSpecs answers /openapi/v3, the index of documents.
func serveSpecs(s *Server, w http.ResponseWriter, r *http.Request) {
	type spec struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]spec{}
	for _, g := range s.kinds.list() {
		path := groupPath(g.GroupVersion)
		paths[path] = spec{"/openapi/v3/" + path + "?hash=" + g.specHash()}
	}
	writeJSON(w, http.StatusOK, map[string]any{"paths": paths})
}

// groupPath is the path of a group version, without the slash before it.
func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// specEndpoint answers /openapi/v3/apis/GROUP/VERSION.
type specEndpoint schema.GroupVersion

func (v specEndpoint) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	for _, g := range s.kinds.list() {
		if g.GroupVersion == schema.GroupVersion(v) {
			w.Header().Set("Etag", `"`+g.specHash()+`"`)
			writeJSON(w, http.StatusOK, g.spec())
			return
		}
	}
	serveNothing(s, w, r)
}

// specHash changes when the document of a group version does.
func (g group) specHash() string {
	if !slices.ContainsFunc(g.resources, func(r *resource) bool { return r.schema != nil }) {
		return recordedHash()
	}
	text, err := json.Marshal(g.spec())
	if err != nil {
		panic(err) // it is JSON that was read
	}
	return fmt.Sprintf("%X", sha256.Sum256(text))
}

// spec returns the OpenAPI document of a group version: its paths, and the schemas of its kinds with
// all that these refer to.
func (g group) spec() map[string]any {
	paths, schemas := map[string]any{}, map[string]any{}
	for _, r := range g.resources {
		r.addPaths(paths)
		if r.schema != nil {
			r.addSchemas(schemas)
		}
	}
	for name, s := range recordedSchemas() {
		if !strings.HasPrefix(name, metaSchemas) && slices.ContainsFunc(kindsOf(s), func(kind schema.GroupVersionKind) bool { return kind.GroupVersion() == g.GroupVersion }) {
			schemas[name] = s
		}
	}
	addReferred(schemas, paths)
	for _, s := range schemas {
		addReferred(schemas, s)
	}
	return map[string]any{"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": "1.36"},
		"paths": paths, "components": map[string]any{"schemas": schemas}}
}

const (
	metaSchemas  = "io.k8s.apimachinery.pkg.apis.meta."
	schemaPrefix = "#/components/schemas/"
	kindsField   = "x-kubernetes-group-version-kind"
)

// kindsOf returns the kinds that a schema is for.
func kindsOf(s map[string]any) (kinds []schema.GroupVersionKind) {
	list, _ := s[kindsField].([]any)
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			kinds = append(kinds, schema.GroupVersionKind{Group: text(fields, "group"), Version: text(fields, "version"), Kind: text(fields, "kind")})
		}
	}
	return kinds
}

// addReferred adds the recorded schemas that a value refers to, and those that they refer to.
func addReferred(schemas map[string]any, v any) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, schemaPrefix)
			if _, has := schemas[name]; !has && recordedSchemas()[name] != nil {
				schemas[name] = recordedSchemas()[name]
				addReferred(schemas, recordedSchemas()[name])
			}
		}
		for _, item := range v {
			addReferred(schemas, item)
		}
	case []any:
		for _, item := range v {
			addReferred(schemas, item)
		}
	}
}
