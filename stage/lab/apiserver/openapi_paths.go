package apiserver

import (
	"slices"
	"strings"
)

// operations are what a verb is in a document: the method, and the query parameters of writes.
var operations = map[string]struct {
	method, action string
	parameters     []string
	onCollection   bool
}{
	"list":             {"get", "list", nil, true},
	"create":           {"post", "post", []string{"dryRun", "fieldManager", "fieldValidation"}, true},
	"deletecollection": {"delete", "deletecollection", []string{"dryRun"}, true},
	"get":              {"get", "get", nil, false},
	"update":           {"put", "put", []string{"dryRun", "fieldManager", "fieldValidation"}, false},
	"patch":            {"patch", "patch", []string{"dryRun", "fieldManager", "fieldValidation", "force"}, false},
	"delete":           {"delete", "delete", []string{"dryRun", "gracePeriodSeconds", "propagationPolicy"}, false},
}

// addPaths adds the paths of a resource, with what clients look for in them: which kind they take,
// and which parameters.
func (r *resource) addPaths(paths map[string]any) {
	collection := "/" + groupPath(r.version) + "/"
	if r.isNamespaced() {
		if slices.Contains(r.Verbs, "list") {
			paths[collection+r.Resource] = map[string]any{"get": r.operation("list")}
		}
		collection += "namespaces/{namespace}/"
	}
	collection += r.Resource
	ofAll, ofOne := map[string]any{}, map[string]any{}
	for verb, o := range operations {
		switch {
		case !slices.Contains(r.Verbs, verb):
		case o.onCollection:
			ofAll[o.method] = r.operation(verb)
		default:
			ofOne[o.method] = r.operation(verb)
		}
	}
	for path, of := range map[string]map[string]any{collection: ofAll, collection + "/{name}": ofOne} {
		if len(of) > 0 {
			setParameters(of, pathParameters(path))
			paths[path] = of
		}
	}
}

// setParameters sets parameters. A document without parameters does not have the field, so that it
// stays as it is if a client reads it and writes it again.
func setParameters(of map[string]any, parameters []any) {
	if len(parameters) > 0 {
		of["parameters"] = parameters
	}
}

// pathParameters are the parameters in a path.
func pathParameters(path string) (parameters []any) {
	for _, name := range []string{"name", "namespace"} {
		if strings.Contains(path, "{"+name+"}") {
			parameters = append(parameters, parameter(name, "path"))
		}
	}
	return parameters
}

func parameter(name, in string) map[string]any {
	kind := "string"
	switch name {
	case "force":
		kind = "boolean"
	case "gracePeriodSeconds":
		kind = "integer"
	}
	p := map[string]any{"name": name, "in": in, "schema": map[string]any{"type": kind, "uniqueItems": true}}
	if in == "path" {
		p["required"] = true
	}
	return p
}

// operation describes a verb.
func (r *resource) operation(verb string) map[string]any {
	o := operations[verb]
	var parameters []any
	for _, name := range o.parameters {
		parameters = append(parameters, parameter(name, "query"))
	}
	kind := map[string]any{"group": r.kind.Group, "version": r.kind.Version, "kind": r.kind.Kind}
	described := map[string]any{
		"operationId": verb + r.kind.Kind, "x-kubernetes-action": o.action, kindsField: kind,
		"responses": map[string]any{"200": map[string]any{"description": "OK", "content": r.content(verb)}},
	}
	setParameters(described, parameters)
	return described
}

// content is what the answer to a verb has.
func (r *resource) content(verb string) map[string]any {
	name := r.schemaName()
	switch verb {
	case "list":
		name += "List"
	case "delete", "deletecollection":
		name = metaSchemas + "v1.Status"
	}
	return map[string]any{jsonType: map[string]any{"schema": reference(name)}}
}

func reference(name string) map[string]any { return map[string]any{"$ref": schemaPrefix + name} }
