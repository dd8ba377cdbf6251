package apiserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	openapi "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
)

const (
	definitionPrefix = "#/definitions/"
	specProtobuf     = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)

// A specV2 is the document of OpenAPI v2 for a state of the definitions.
type specV2 struct {
	json, protobuf []byte
	hash           string
}

// serveSpecV2 answers /openapi/v2, the document with all kinds, which older clients read.
func serveSpecV2(s *Server, w http.ResponseWriter, r *http.Request) {
	spec, err := s.kinds.specV2()
	if err != nil {
		writeError(w, r, err)
		return
	}
	w.Header().Set("Etag", `"`+spec.hash+`"`)
	w.Header().Set("Vary", "Accept")
	switch accept := r.Header.Get("Accept"); {
	case r.Header.Get("If-None-Match") == `"`+spec.hash+`"`:
		w.WriteHeader(http.StatusNotModified)
	case strings.Contains(accept, "proto-openapi.spec.v2"):
		writeBytes(w, http.StatusOK, specProtobuf, spec.protobuf)
	default:
		writeBytes(w, http.StatusOK, jsonType, spec.json)
	}
}

// specV2 returns the document. It takes a second to make one anew, for which no other request waits.
func (x *kindIndex) specV2() (*specV2, error) {
	x.mu.Lock()
	x.refresh()
	v2 := x.v2
	x.mu.Unlock()
	return v2()
}

// makeSpecV2 makes the document of some groups.
func (s *Server) makeSpecV2(groups []group) (*specV2, error) {
	text, err := json.Marshal(s.documentV2(groups))
	if err != nil {
		return nil, err
	}
	document, err := openapi.ParseDocument(text)
	if err != nil {
		return nil, err
	}
	binary, err := proto.Marshal(document)
	if err != nil {
		return nil, err
	}
	return &specV2{text, binary, fmt.Sprintf("%X", sha256.Sum256(text))}, nil
}

// documentV2 makes a document of OpenAPI v2 of those of v3.
func (s *Server) documentV2(groups []group) map[string]any {
	paths, definitions := map[string]any{}, map[string]any{}
	for _, g := range groups {
		v3 := g.spec()
		for path, item := range v3["paths"].(map[string]any) {
			paths[path] = pathV2(item.(map[string]any))
		}
		for name, schema := range v3["components"].(map[string]any)["schemas"].(map[string]any) {
			if definitions[name] == nil {
				definitions[name] = schemaV2(schema)
			}
		}
		for _, r := range g.resources {
			if r.definition != nil {
				definitions[r.schemaName()] = s.customV2(r)
			}
		}
	}
	return map[string]any{"swagger": "2.0", "info": map[string]any{"title": "Kubernetes", "version": "v1.36.3"}, "paths": paths, "definitions": definitions}
}

// customV2 is the schema of a custom kind. One that preserves unknown fields says nothing more than
// that it is an object: clients would refuse the unknown fields.
func (s *Server) customV2(r *resource) map[string]any {
	schema, err := s.schemas.SchemaV2(r.definition, r.kind.Version)
	all := map[string]any{"type": "object"}
	if err == nil && schema != nil {
		all = schema
		typeFields := recordedSchemas()[metaSchemas+"v1.Status"]["properties"].(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		all["properties"] = with(properties, typeFields, map[string]any{"$ref": definitionPrefix + metaSchemas + "v1.ObjectMeta"})
	}
	all[kindsField] = []any{map[string]any{"group": r.kind.Group, "version": r.kind.Version, "kind": r.kind.Kind}}
	return all
}

// pathV2 returns the operations of a path in the form of v2.
func pathV2(item map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range item {
		if name == "parameters" {
			out[name] = parametersV2(value)
			continue
		}
		operation := maps.Clone(value.(map[string]any))
		operation["parameters"] = parametersV2(operation["parameters"])
		operation["produces"] = []any{jsonType, yamlType, protobufType}
		operation["responses"] = responsesV2(operation["responses"].(map[string]any))
		out[name] = operation
	}
	return out
}

func parametersV2(list any) []any {
	out := []any{}
	given, _ := list.([]any)
	for _, p := range given {
		parameter := maps.Clone(p.(map[string]any))
		maps.Copy(parameter, parameter["schema"].(map[string]any))
		delete(parameter, "schema")
		out = append(out, parameter)
	}
	return out
}

func responsesV2(responses map[string]any) map[string]any {
	out := map[string]any{}
	for code, r := range responses {
		response := maps.Clone(r.(map[string]any))
		content := response["content"].(map[string]any)[jsonType].(map[string]any)
		delete(response, "content")
		response["schema"] = schemaV2(content["schema"])
		out[code] = response
	}
	return out
}

// schemaV2 returns a schema in the form of v2, which has references without anything beside them but
// a description, and one type.
func schemaV2(v any) any {
	schema, is := v.(map[string]any)
	if !is {
		return v
	}
	out := map[string]any{}
	for name, value := range schema {
		switch name {
		case "nullable", "anyOf", "not":
		case "$ref":
			out[name] = definitionPrefix + strings.TrimPrefix(text(schema, name), schemaPrefix)
		case "allOf":
			if only := singleReference(value); only != "" {
				out["$ref"] = definitionPrefix + strings.TrimPrefix(only, schemaPrefix)
			}
		case "oneOf":
			if schema["type"] == nil { // numbers or text: clients take text for both
				out["type"] = "string"
			}
		case "items", "additionalProperties":
			out[name] = schemaV2(value)
		case "properties":
			out[name] = propertiesV2(value)
		default:
			out[name] = value
		}
	}
	if out["$ref"] != nil {
		delete(out, "default")
	}
	return out
}

func propertiesV2(v any) map[string]any {
	out := map[string]any{}
	properties, _ := v.(map[string]any)
	for name, schema := range properties {
		out[name] = schemaV2(schema)
	}
	return out
}

// singleReference returns the reference in a list with nothing else.
func singleReference(v any) string {
	list, _ := v.([]any)
	if len(list) != 1 {
		return ""
	}
	item, _ := list[0].(map[string]any)
	ref, _ := item["$ref"].(string)
	return ref
}
