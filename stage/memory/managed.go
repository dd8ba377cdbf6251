package memory

import (
	"context"
	"errors"
	"maps"

	"github.com/stagecraft-go/stagecraft/internal/managedfields"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// writer returns the manager and operation of this request. objects are the objects of the request.
func (r *request) writer(objects ...map[string]any) managedfields.Writer {
	w := managedfields.Writer{
		Type:        r.kind.fields(),
		APIVersion:  r.kind.apiVersion,
		Manager:     r.manager,
		Subresource: r.Subresource,
		Time:        r.timestamp(0),
		Ignored:     r.ignored(objects),
	}
	if r.kind.converts() {
		w.Convert, w.Replicas = r.store.formFor(r.ctx, r.kind), r.kind.form.replicas
	}
	return w
}

// formFor returns a function that converts objects of a kind, with the fields of their versions.
func (s *store) formFor(ctx context.Context, k *kind) func(map[string]any, string) (map[string]any, managedfields.Type, error) {
	return func(obj map[string]any, apiVersion string) (map[string]any, managedfields.Type, error) {
		objs := []*unstructured.Unstructured{{Object: obj}}
		if !isIdentity(obj) {
			var err error
			if objs, err = s.converted(ctx, k, objs, Conversion{APIVersion: apiVersion, Definition: k.form.definition, Purpose: ToCompare}); err != nil {
				return nil, managedfields.Type{}, err
			}
		}
		return objs[0].Object, s.fieldsOf(k, apiVersion), nil
	}
}

// isIdentity reports whether an object has nothing but its kind. Nothing has to be converted then.
func isIdentity(obj map[string]any) bool {
	return len(obj) == 0 || len(obj) == 2 && obj["apiVersion"] != nil && obj["kind"] != nil
}

// fieldsOf returns the types of the fields of a custom kind in any version of its definition.
func (s *store) fieldsOf(k *kind, apiVersion string) managedfields.Type {
	s.mu.RLock()
	other := s.kinds[schema.FromAPIVersionAndKind(apiVersion, k.Kind.Kind)]
	s.mu.RUnlock()
	if other != nil && !other.builtin {
		return other.fields()
	}
	versions, _ := object.Slice(k.form.definition.Object, "spec", "versions")
	for _, v := range versions { // it is not served
		version, _ := object.ToMap(v)
		if name, _ := object.String(version, "name"); apiVersion == k.Group+"/"+name {
			openapi, _ := object.Map(version, "schema", "openAPIV3Schema")
			return managedfields.Defined(openapi)
		}
	}
	return managedfields.Defined(nil)
}

// ignored returns the fields that this request does not write: the status, or, for a request for
// the status, all other fields of the objects.
func (r *request) ignored(objects []map[string]any) (paths [][]string) {
	if r.Subresource != "status" {
		if r.kind.Status {
			paths = append(paths, []string{"status"})
		}
		return paths
	}
	for _, obj := range objects {
		for name := range obj {
			if name != "status" && name != "metadata" {
				paths = append(paths, []string{name})
			}
		}
	}
	switch {
	case r.kind.traits&ownMeta == ownMeta:
		return append(paths, []string{"metadata"})
	case r.kind.has(ownLabels):
		return append(paths, []string{"metadata", "labels"})
	case r.kind.has(ownOwners):
		return append(paths, []string{"metadata", "ownerReferences"})
	}
	return paths
}

// own writes managedFields after a write. Only an apply adds managedFields to an object that has
// none. The changes of a Binding have no manager.
func (r *request) own(before, next map[string]any) (err error) {
	entries, _ := metadataOf(before)["managedFields"].([]any)
	if len(entries) == 0 && r.entries == nil && r.given == nil || r.Subresource == "binding" {
		return nil
	}
	switch {
	case r.entries != nil:
		entries = *r.entries
	case managedfields.IsReset(r.given):
		entries = nil
	default:
		if entries, err = r.reassigned(before, next); err != nil {
			return err
		}
	}
	setEntries(metadataOf(next), entries)
	return nil
}

// reassigned gives the changed fields to the manager of this request. An object with a field of a
// wrong type has no managedFields.
func (r *request) reassigned(before, next map[string]any) ([]any, error) {
	base, err := r.asRead(before)
	if err != nil {
		return nil, err
	}
	if given, _ := r.given.([]any); len(given) > 0 && managedfields.Check(given) == nil {
		base = withField(base, "metadata", withField(metadataOf(before), "managedFields", given))
	}
	if list, _ := metadataOf(base)["managedFields"].([]any); len(list) == 0 {
		return nil, nil
	}
	return r.entriesAfter(r.writer(before, next), base, next)
}

// entriesAfter returns the managedFields after an update; nil for an object with a field of a wrong
// type, or with a manager of a version that the definition no longer has. The error is that of
// unlocked, or that the object has too many members.
func (r *request) entriesAfter(w managedfields.Writer, before, next map[string]any) (entries []any, err error) {
	if r.kind.form.checkOwners(before) != nil {
		return nil, nil
	}
	err = r.unlocked(func() error {
		var updated error
		var tooWide *managedfields.WidthError
		if entries, updated = w.Update(before, next); errors.As(updated, &tooWide) {
			return apierrors.NewRequestEntityTooLargeError(tooWide.Error())
		}
		return nil
	})
	return entries, err
}

func (r *request) applies() bool { return r.Verb == "apply" }

// asRead returns a stored object as clients read it: a custom object has the defaults that were
// defined later.
func (r *request) asRead(obj map[string]any) (map[string]any, error) {
	if r.kind.builtin || len(r.hooks) == 0 {
		return obj, nil
	}
	read := maps.Clone(obj)
	switch err := r.fill(obj, read); {
	case errors.Is(err, errStale):
		return nil, err
	case err != nil:
		return obj, nil
	}
	return read, nil
}

// ownNew gives all fields of a new object to the manager of this request.
func (r *request) ownNew(root map[string]any) error {
	entries, err := r.entriesAfter(r.writer(root), nil, root)
	if err == nil && entries != nil {
		setEntries(metadataOf(root), entries)
	}
	return err
}

func setEntries(metadata map[string]any, entries []any) {
	if len(entries) == 0 {
		delete(metadata, "managedFields")
		return
	}
	metadata["managedFields"] = entries
}

// revertTimes undoes changes of managedFields if only their times have changed, and the hooks left
// the rest of the object unchanged. New times are not a reason to store an object again.
func revertTimes(before, next map[string]any) {
	old, _ := metadataOf(before)["managedFields"].([]any)
	entries, _ := metadataOf(next)["managedFields"].([]any)
	if len(old) == 0 || !patch.Equal(before["status"], next["status"]) {
		return
	}
	reverted := withField(next, "metadata", withField(metadataOf(next), "managedFields", old))
	if patch.Equal(before, reverted) && patch.Equal(withoutTimes(old), withoutTimes(entries)) {
		setEntries(metadataOf(next), old)
	}
}

func withoutTimes(entries []any) []any {
	out := make([]any, len(entries))
	for i, v := range entries {
		entry, _ := object.ToMap(v)
		out[i] = withField(entry, "time", nil)
	}
	return out
}
