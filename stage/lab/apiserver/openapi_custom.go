package apiserver

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// schemaNames are the names of recorded schemas by kind.
var schemaNames = sync.OnceValue(func() map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for name, s := range recordedSchemas() {
		for _, kind := range kindsOf(s) {
			names[kind] = name
		}
	}
	return names
})

// schemaName is the name of the schema of a resource's kind. For a custom kind it begins with the
// words of the group in reverse.
func (r *resource) schemaName() string {
	if name := schemaNames()[r.kind]; name != "" && r.schema == nil {
		return name
	}
	words := strings.Split(r.kind.Group, ".")
	slices.Reverse(words)
	return strings.Join(append(words, r.kind.Version, r.kind.Kind), ".")
}

// addSchemas adds the schemas of a custom kind and its list.
func (r *resource) addSchemas(schemas map[string]any) {
	name, meta := r.schemaName(), recordedSchemas()
	typeFields := meta[metaSchemas+"v1.Status"]["properties"].(map[string]any)
	kind := maps.Clone(r.schema)
	properties, _ := kind["properties"].(map[string]any)
	kind["properties"] = with(properties, typeFields, map[string]any{"allOf": []any{reference(metaSchemas + "v1.ObjectMeta")},
		"description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"})
	kind[kindsField] = []any{map[string]any{"group": r.kind.Group, "version": r.kind.Version, "kind": r.kind.Kind}}
	schemas[name] = kind
	items := map[string]any{"items": map[string]any{
		"description": "List of " + r.Resource + ". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
		"type":        "array", "items": reference(name)}}
	schemas[name+"List"] = map[string]any{
		"description": r.kind.Kind + "List is a list of " + r.kind.Kind, "type": "object", "required": []any{"items"},
		"properties": with(items, typeFields, map[string]any{"allOf": []any{reference(metaSchemas + "v1.ListMeta")},
			"description": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"}),
		kindsField: []any{map[string]any{"group": r.kind.Group, "version": r.kind.Version, "kind": r.kind.Kind + "List"}},
	}
}

// with returns properties with those that every object has.
func with(properties, typeFields, metadata map[string]any) map[string]any {
	all := maps.Clone(properties)
	if all == nil {
		all = map[string]any{}
	}
	all["apiVersion"], all["kind"], all["metadata"] = typeFields["apiVersion"], typeFields["kind"], metadata
	return all
}
