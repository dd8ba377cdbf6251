// Package apiservices keeps an APIService for each group and version that a server serves itself, as
// the aggregator of kube-apiserver does: those of built-in kinds are created at the start, and those of
// definitions with them.
//
// # Concurrency
//
// The hooks are called while the cluster is locked. The other functions are safe for concurrent use.
package apiservices

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Kind is the kind of the objects.
var Kind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

var (
	definitions    = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// Manager is the field manager of the objects.
const Manager = "kube-apiserver"

// Name returns the name of the APIService of a version.
func Name(gv schema.GroupVersion) types.NamespacedName {
	return types.NamespacedName{Name: gv.Version + "." + gv.Group}
}

// Hooks returns hooks that create the APIServices of definitions, and remove them with the last
// definition that serves the version.
func Hooks() memory.Hooks {
	return memory.Hooks{Name: "apiservices", Review: register, Removed: func(v *memory.Review) {
		if v.Resource == definitions {
			unregister(v, nil)
		}
	}}
}

func register(v *memory.Review) error {
	if v.Resource != definitions || v.New == nil {
		return nil
	}
	for _, gv := range Served(v.New) {
		v.Create(New(gv, Priority{Group: 1000, Version: 100}, "true", v.Time))
	}
	if v.Old != nil {
		unregister(v, v.New)
	}
	return nil
}

// unregister removes the APIServices of versions that no definition serves any longer. Next is the
// definition that replaces the old one; nil for none.
func unregister(v *memory.Review, next *unstructured.Unstructured) {
	kept := map[schema.GroupVersion]bool{}
	for _, gv := range Served(next) {
		kept[gv] = true
	}
	for _, other := range v.List(definitionKind, "") {
		if other.GetName() == v.Old.GetName() {
			continue
		}
		for _, gv := range Served(other) {
			kept[gv] = true
		}
	}
	for _, gv := range Served(v.Old) {
		if u := v.Get(Kind, Name(gv)); u != nil && !kept[gv] && isAutomatic(u) {
			v.Remove(Kind, Name(gv))
		}
	}
}

const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// isAutomatic reports whether the server keeps an APIService, and no user.
func isAutomatic(u *unstructured.Unstructured) bool { return u.GetLabels()[automanaged] == "true" }

// Served returns the versions that a definition serves; none for nil.
func Served(definition *unstructured.Unstructured) (all []schema.GroupVersion) {
	if definition == nil {
		return nil
	}
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	spec, _ := definition.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		fields, _ := v.(map[string]any)
		name, _ := fields["name"].(string)
		if fields["served"] == true && name != "" && group != "" {
			all = append(all, schema.GroupVersion{Group: group, Version: name})
		}
	}
	return all
}

// New returns the APIService of a version that the server serves. The label of managed is onstart for
// built-in kinds, and true for those of definitions.
func New(gv schema.GroupVersion, p Priority, managed string, now time.Time) *unstructured.Unstructured {
	at := now.UTC().Format(time.RFC3339)
	spec := map[string]any{"version": gv.Version, "groupPriorityMinimum": p.Group, "versionPriority": p.Version}
	owned := map[string]any{"f:version": empty(), "f:groupPriorityMinimum": empty(), "f:versionPriority": empty()}
	if gv.Group != "" {
		spec["group"], owned["f:group"] = gv.Group, empty()
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Kind.GroupVersion().String(), "kind": Kind.Kind,
		"metadata": map[string]any{
			"name": Name(gv).Name, "labels": map[string]any{automanaged: managed},
			"managedFields": []any{
				entry(at, "", map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{".": empty(), "f:" + automanaged: empty()}}, "f:spec": owned}),
				entry(at, "status", map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{".": empty(), `k:{"type":"Available"}`: map[string]any{
					".": empty(), "f:lastTransitionTime": empty(), "f:message": empty(), "f:reason": empty(), "f:status": empty(), "f:type": empty()}}}}),
			},
		},
		"spec": spec,
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available", "lastTransitionTime": at}}},
	}}
}

// entry is what the server owns of an object, or of a subresource of it.
func entry(at, subresource string, fields map[string]any) map[string]any {
	e := map[string]any{"apiVersion": Kind.GroupVersion().String(), "manager": Manager, "operation": "Update", "time": at, "fieldsType": "FieldsV1", "fieldsV1": fields}
	if subresource != "" {
		e["subresource"] = subresource
	}
	return e
}

func empty() map[string]any { return map[string]any{} }
