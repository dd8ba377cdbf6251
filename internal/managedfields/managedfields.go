// Package managedfields says which manager owns which field of an object, and merges what is applied,
// as an API server does it: by sigs.k8s.io/structured-merge-diff.
//
//	w := managedfields.Writer{Type: managedfields.BuiltIn(kind), APIVersion: "apps/v1", Manager: "me", Time: now}
//	next, entries, err := w.Apply(before, config, false)
//
// What lies around that library is done as in k8s.io/apimachinery/pkg/util/managedfields, which cannot
// be used here: it has the time of the machine, and needs the OpenAPI of every kind at run time. TestApply
// of internal/dev/e2e compares the results with those of a kube-apiserver.
//
// Objects are not changed; results share parts with them.
package managedfields

import (
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// BeforeApply is the manager that owns the fields which an object has before its first apply, if it
// had no managedFields.
const BeforeApply = "before-first-apply"

// current is the manager of an update until it is known whether anything has changed.
const current = "current-operation"

// A Writer is who writes an object, and how.
type Writer struct {
	Type        Type
	APIVersion  string
	Manager     string
	Subresource string
	Time        string     // RFC 3339
	Ignored     [][]string // paths of fields that this request cannot write
}

// Update returns the managedFields of an object that was changed by other requests than an apply, nil
// if nobody owns a field. The entries before are those of the first object, which is empty if the
// object is new.
func (w Writer) Update(before, next map[string]any) ([]any, error) {
	if before == nil && w.Type.shapes != nil && w.Subresource == "" {
		return w.create(without(next))
	}
	return w.change(before, next)
}

// create is an Update of an object that is new.
func (w Writer) create(next map[string]any) ([]any, error) {
	status := len(w.Ignored) == 0
	if fields := w.Type.shapes.find(next, status); fields != nil {
		return []any{newEntry(w.id(metav1.ManagedFieldsOperationUpdate), fields, w.Time)}, nil
	}
	entries, err := w.change(nil, next)
	if len(entries) == 1 {
		entry, _ := object.ToMap(entries[0])
		fields, _ := object.Map(entry, "fieldsV1")
		w.Type.shapes.add(next, status, fields)
	}
	return entries, err
}

func (w Writer) change(before, next map[string]any) ([]any, error) {
	owners, err := decode(entriesOf(before))
	if err != nil {
		return nil, err
	}
	if err := w.update(owners, without(before), without(next)); err != nil {
		return nil, err
	}
	return owners.encode()
}

func (w Writer) update(o *owners, before, next map[string]any) error {
	// They are not checked: what is compared is what is stored.
	before, next = different(before, next, 1)
	old, now := w.Type.unchecked(before), w.Type.unchecked(next)
	_, fields, err := w.updater().Update(old, now, w.version(), o.fields, current)
	if err != nil {
		return err
	}
	mine := stripped(fields[current])
	if w.Subresource == "scale" && mine != nil && !o.owns(mine.Set()) {
		return nil // a Scale whose fields nobody owns has no managedFields, so nobody becomes their owner
	}
	o.fields = fields
	if mine != nil {
		o.gain(w.id(metav1.ManagedFieldsOperationUpdate), mine, w.Time)
	}
	delete(fields, current)
	o.limit()
	return nil
}

// Apply merges a configuration into an object, which has only apiVersion, kind and metadata if it is
// new. It returns the next object without managedFields, and these. Fields that the manager applied
// before, and does not apply now, are removed if nobody else owns them. The error is one that the
// client gets.
func (w Writer) Apply(before, config map[string]any, force bool) (next map[string]any, entries []any, err error) {
	owners, err := decode(entriesOf(before))
	if err != nil {
		return nil, nil, err
	}
	live := without(before)
	if len(owners.fields) == 0 && isStored(before) {
		first := w
		first.Manager = BeforeApply
		if err := first.update(owners, identity(live), live); err != nil {
			return nil, nil, err
		}
	}
	next, err = w.apply(owners, live, config, force)
	if err != nil {
		return nil, nil, err
	}
	entries, err = owners.encode()
	return w.annotated(next, config), entries, err
}

func (w Writer) apply(o *owners, before, config map[string]any, force bool) (map[string]any, error) {
	wanted, err := w.Type.FromUnstructured(config)
	if err != nil {
		return nil, w.notTyped("patch", config, err)
	}
	live, err := w.Type.FromUnstructured(before, typed.AllowDuplicates)
	if err != nil {
		return nil, w.notTyped("live", before, err)
	}
	id := w.id(metav1.ManagedFieldsOperationApply)
	merged, fields, err := w.updater().Apply(live, wanted, w.version(), o.fields, id, force)
	if conflicts, ok := err.(merge.Conflicts); ok { //nolint:errorlint // it is never wrapped
		if conflicts = w.serious(conflicts, live, before); len(conflicts) > 0 {
			return nil, conflictError(conflicts)
		}
		return w.apply(o, before, config, true)
	}
	if err != nil {
		return nil, err
	}
	o.fields = fields
	o.set(id, stripped(fields[id]))
	if merged == nil {
		return before, nil
	}
	o.times[id] = w.Time
	next, _ := merged.AsValue().Unstructured().(map[string]any)
	return next, nil
}

func (w Writer) version() fieldpath.APIVersion { return fieldpath.APIVersion(w.APIVersion) }

func (w Writer) id(operation metav1.ManagedFieldsOperationType) string {
	return identify(metav1.ManagedFieldsEntry{Manager: w.Manager, Operation: operation, APIVersion: w.APIVersion, Subresource: w.Subresource})
}

func (w Writer) updater() *merge.Updater {
	b := merge.UpdaterBuilder{Converter: sameForm{}}
	if len(w.Ignored) > 0 {
		set := fieldpath.NewSet()
		for _, names := range w.Ignored {
			var path fieldpath.Path
			for _, name := range names {
				path = append(path, fieldpath.FieldNameElement(name))
			}
			set.Insert(path)
		}
		b.IgnoreFilter = map[fieldpath.APIVersion]fieldpath.Filter{w.version(): fieldpath.NewExcludeSetFilter(set)}
	}
	return b.BuildUpdater()
}

// sameForm says that objects have the same form in all versions.
type sameForm struct{}

func (sameForm) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}

func (sameForm) IsMissingVersionError(error) bool { return false }

// identityFields are never owned: they say which object it is, or are set by the server.
var identityFields = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
	fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "clusterName"),
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// stripped returns the fields of a manager that can be owned, nil if there are none.
func stripped(v fieldpath.VersionedSet) fieldpath.VersionedSet {
	if v == nil {
		return nil
	}
	set := v.Set().Difference(identityFields)
	if set.Empty() {
		return nil
	}
	return fieldpath.NewVersionedSet(set, v.APIVersion(), v.Applied())
}

func metadataOf(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	return metadata
}

func entriesOf(obj map[string]any) []any {
	list, _ := metadataOf(obj)["managedFields"].([]any)
	return list
}

func isStored(obj map[string]any) bool { return metadataOf(obj)["uid"] != nil }

// without returns an object without its managedFields.
func without(obj map[string]any) map[string]any {
	metadata := metadataOf(obj)
	if metadata["managedFields"] == nil {
		return obj
	}
	obj, metadata = maps.Clone(obj), maps.Clone(metadata)
	delete(metadata, "managedFields")
	obj["metadata"] = metadata
	return obj
}

// different returns two objects without the members that are equal, down to a depth. An update asks
// only for what differs, which is little of most objects.
func different(before, next map[string]any, depth int) (a, b map[string]any) {
	if before == nil || next == nil {
		return before, next
	}
	a, b = map[string]any{}, maps.Clone(next)
	for name, old := range before {
		now, there := b[name]
		if there && object.DeepEqual(old, now) {
			delete(b, name)
			continue
		}
		x, isMap := old.(map[string]any)
		y, both := now.(map[string]any)
		if a[name] = old; isMap && both && depth > 0 {
			a[name], b[name] = different(x, y, depth-1)
		}
	}
	return a, b
}

// identity is an object that is not there yet.
func identity(obj map[string]any) map[string]any {
	return map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
}

// IsReset reports whether managedFields that a client sent ask to forget who owns what: the list is
// empty, or has one empty entry.
func IsReset(given any) bool {
	list, ok := given.([]any)
	if !ok || len(list) > 1 {
		return false
	}
	return !slices.ContainsFunc(list, func(v any) bool {
		entry, _ := v.(map[string]any)
		return len(entry) > 0
	})
}
