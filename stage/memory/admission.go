package memory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Review is the creation or change of an object that [Options.Admission] decides about, after it
// was checked and before it is stored. It is valid until the function returns.
type Review struct {
	Request
	Resource schema.GroupResource // plural name of the kind
	DryRun   bool                 // nothing will be stored
	// Old is the object as it is stored, nil if it is new. It must not be changed.
	Old *unstructured.Unstructured
	// New is the object as it will be stored. Its root and its metadata may be changed; what is
	// below may be shared with others, so it must be replaced and not changed.
	New *unstructured.Unstructured

	store    *store
	old, new unstructured.Unstructured
}

// review asks Options.Admission about a write. Writes of a status are not asked about.
func (r *request) review(before, next map[string]any) error {
	if r.options.Admission == nil || r.Subresource != "" {
		return nil
	}
	v := &r.reviewed
	v.Request, v.Resource, v.DryRun, v.store = r.Request, r.resource(), r.dryRun, r.store
	v.old.Object, v.new.Object = before, next
	v.Old, v.New = &v.old, &v.new
	if before == nil {
		v.Old = nil
	}
	return r.options.Admission(v)
}

// List returns the objects of a kind in a namespace, or in all if it is "", by namespace and name.
// They are the stored ones and must not be changed. It is empty for an unknown kind.
func (v *Review) List(kind schema.GroupVersionKind, namespace string) (found []*unstructured.Unstructured) {
	k := v.store.kinds[kind]
	if k == nil || len(k.table.records) == 0 {
		return nil
	}
	for _, r := range k.table.within(namespace) {
		found = append(found, r.object())
	}
	return found
}

// PutStatus replaces the status of another object together with the write that is reviewed. It does
// nothing in a dry run, and if the object is not there. The status must not be changed afterwards.
func (v *Review) PutStatus(kind schema.GroupVersionKind, name types.NamespacedName, status map[string]any) {
	k := v.store.kinds[kind]
	if k == nil || v.DryRun {
		return
	}
	if r := k.table.records[k.key(name)]; r != nil {
		next := fork(r.object().Object)
		next["status"] = status
		v.store.put(r, next)
	}
}
