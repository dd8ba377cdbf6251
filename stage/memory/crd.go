package memory

import (
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// define adds the kinds of a CustomResourceDefinition, one for each served version.
func (s *store) define(definition *unstructured.Unstructured) {
	crd, f := definition.Object, formOf(definition)
	s.forget(definedResource(crd))
	versions, _ := object.Slice(crd, "spec", "versions")
	for _, v := range versions {
		version, _ := object.ToMap(v)
		if served, given := object.Bool(version, "served"); served || !given {
			openapi, _ := object.Map(version, "schema", "openAPIV3Schema")
			s.addCustom(customKind(crd, version), openapi, f)
		}
	}
}

// undefine removes the kinds and their objects, even if the objects have finalizers.
func (s *store) undefine(crd map[string]any) {
	at := definedResource(crd)
	s.forget(at)
	if t := s.tables[at]; t != nil {
		for _, r := range t.sorted() {
			s.drop(r)
		}
	}
}

func (s *store) forget(at schema.GroupResource) {
	for gvk, k := range s.kinds {
		if k.groupResource() == at && !k.builtin {
			delete(s.kinds, gvk)
		}
	}
}

func definedResource(crd map[string]any) schema.GroupResource {
	group, _ := object.String(crd, "spec", "group")
	resource, _ := object.String(crd, "spec", "names", "plural")
	return schema.GroupResource{Group: group, Resource: resource}
}

func customKind(crd, version map[string]any) Kind {
	at := definedResource(crd)
	scope, _ := object.String(crd, "spec", "scope")
	name, _ := object.String(crd, "spec", "names", "kind")
	number, _ := object.String(version, "name")
	_, status := object.Get(version, "subresources", "status")
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: at.Group, Version: number, Kind: name},
		Resource:         at.Resource,
		ClusterScoped:    scope == "Cluster",
		Status:           status,
		Fields:           selectableFields(version),
	}
}

func selectableFields(version map[string]any) (paths []string) {
	fields, _ := object.Slice(version, "selectableFields")
	for _, f := range fields {
		field, _ := object.ToMap(f)
		if path, ok := object.String(field, "jsonPath"); ok && len(path) > 1 {
			paths = append(paths, path[1:])
		}
	}
	return paths
}

// warn sets the warning for a definition whose schema is new, in a cluster whose hooks do not use
// schemas.
func (r *request) warn(before, crd map[string]any) {
	uses := func(h Hooks) bool { return h.Schemas }
	if r.dryRun || r.resource() != definitions || !hasSchema(crd) || hasSchema(before) || slices.ContainsFunc(r.hooks, uses) {
		return
	}
	r.Warning = "spec.versions[].schema has no effect: objects are stored as they are, without defaults, pruning and validation; the hooks of package stage/lab/definitions use it"
}

// hasSchema reports whether a version of a definition lists the fields of its objects.
func hasSchema(crd map[string]any) bool {
	versions, _ := object.Slice(crd, "spec", "versions")
	return slices.ContainsFunc(versions, func(v any) bool {
		version, _ := object.ToMap(v)
		properties, _ := object.Map(version, "schema", "openAPIV3Schema", "properties")
		return len(properties) > 0
	})
}

// establish sets the status of a new definition, which only the server writes.
func (r *request) establish(root map[string]any) error {
	manager, subresource := r.manager, r.Subresource
	defer func() { r.manager, r.Subresource = manager, subresource }()
	r.manager, r.Subresource = "kube-apiserver", "status"
	before := maps.Clone(root)
	before["status"] = map[string]any{"conditions": nil, "storedVersions": storedVersions(root)}
	root["status"] = established(root, r.timestamp(0))
	return r.own(before, root)
}

// established returns the status that an API server gives to a definition without name conflicts.
func established(crd map[string]any, now string) map[string]any {
	names, _ := object.Get(crd, "spec", "names")
	return map[string]any{
		"acceptedNames":  names,
		"storedVersions": storedVersions(crd),
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
		},
	}
}

// storedVersions returns the version in which objects are stored. It is empty if the definition
// names no such version.
func storedVersions(crd map[string]any) []any {
	versions, _ := object.Slice(crd, "spec", "versions")
	for _, v := range versions {
		version, _ := object.ToMap(v)
		if storage, _ := object.Bool(version, "storage"); storage {
			return []any{version["name"]}
		}
	}
	return []any{}
}

func condition(typ, reason, message, now string) map[string]any {
	return map[string]any{"type": typ, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
}
