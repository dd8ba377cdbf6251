// Package managedfields computes which manager owns which field of an object, and merges applied
// configurations. Like an API server, it uses sigs.k8s.io/structured-merge-diff.
//
//	w := managedfields.Writer{Type: managedfields.BuiltIn(kind), APIVersion: "apps/v1", Manager: "me", Time: now}
//	next, entries, err := w.Apply(before, config, false)
//
// The code around this library follows k8s.io/apimachinery/pkg/util/managedfields. That package
// cannot be used here, because it reads the clock of the machine, and needs the OpenAPI of every
// kind at run time. TestApply of internal/dev/e2e compares the results with a kube-apiserver's.
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

// A Writer is a request that writes an object: its manager, its operation and its time.
type Writer struct {
	Type        Type
	APIVersion  string
	Manager     string
	Subresource string
	Time        string     // RFC 3339
	Ignored     [][]string // paths of fields that this request cannot write
	// Convert returns an object in another version, with the type of the version. Nil: an object has
	// the same fields in all versions.
	Convert func(obj map[string]any, apiVersion string) (map[string]any, Type, error)
	// Replicas returns the path that the subresource scale writes in a version; nil without a path.
	// A nil function: the path is the same in all versions.
	Replicas func(apiVersion string) []string
}

// Update returns the managedFields of an object after a request that is not an apply; nil if no
// manager owns a field. It reads the earlier entries from before, which is empty for a new object.
func (w Writer) Update(before, next map[string]any) ([]any, error) {
	if before == nil && w.Type.shapes != nil && w.Subresource == "" {
		return w.create(without(next))
	}
	return w.change(before, next)
}

// create is Update for a new object.
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
	// They are not checked, because stored objects are compared.
	if w.Convert == nil { // otherwise whole objects are converted
		before, next = different(before, next, 1)
	}
	for _, obj := range []map[string]any{before, next} {
		if err := checkWidth("", obj); err != nil {
			return err
		}
	}
	old, now := w.Type.unchecked(before), w.Type.unchecked(next)
	_, fields, err := w.updater().Update(old, now, w.version(), o.fields, current)
	if err != nil {
		return err
	}
	mine := stripped(fields[current])
	if w.Subresource == "scale" && mine != nil && !w.ownsScale(o, mine.Set()) {
		return nil // a Scale whose fields have no owner has no managedFields, so its fields get no owner
	}
	o.fields = fields
	if mine != nil {
		o.gain(w.id(metav1.ManagedFieldsOperationUpdate), mine, w.Time)
	}
	delete(fields, current)
	o.limit()
	return nil
}

// ownsScale reports whether a manager owns the fields that a Scale has written, each in its version.
func (w Writer) ownsScale(o *owners, written *fieldpath.Set) bool {
	if w.Replicas == nil {
		return o.owns(written)
	}
	for _, v := range o.fields {
		var path fieldpath.Path
		for _, name := range w.Replicas(string(v.APIVersion())) {
			path = append(path, fieldpath.FieldNameElement(name))
		}
		if len(path) > 0 && v.Set().Has(path) {
			return true
		}
	}
	return false
}

// Apply merges a configuration into an object. A new object has only apiVersion, kind and metadata.
// Apply returns the next object without managedFields, and its managedFields. It removes fields
// that the manager applied before, but does not apply now, if no other manager owns them. The
// client gets the error.
func (w Writer) Apply(before, config map[string]any, force bool) (next map[string]any, entries []any, err error) {
	for _, obj := range []map[string]any{before, config} {
		if err := checkWidth("", without(obj)); err != nil {
			return nil, nil, err
		}
	}
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
	if w.Convert != nil {
		b.Converter = otherForms(w.Convert)
	}
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

// sameForm treats objects as equal in all versions.
type sameForm struct{}

func (sameForm) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}

func (sameForm) IsMissingVersionError(error) bool { return false }

// otherForms converts objects between versions.
type otherForms func(obj map[string]any, apiVersion string) (map[string]any, Type, error)

// Convert returns an object in a version; an object that does not exist yet exists in no version.
func (f otherForms) Convert(v *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	obj, _ := v.AsValue().Unstructured().(map[string]any)
	if obj["apiVersion"] == string(version) {
		return v, nil
	}
	other, t, err := f(obj, string(version))
	if err != nil {
		return nil, err
	}
	return t.unchecked(other), nil
}

func (otherForms) IsMissingVersionError(error) bool { return false }

// identityFields have no owner: they identify the object, or the server sets them.
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

// stripped returns the fields of a manager that can have an owner; nil without such fields.
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

// different returns two objects without their equal members, down to a depth. An update needs only
// the different members, which are few in most objects.
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

// identity returns an object that does not exist yet.
func identity(obj map[string]any) map[string]any {
	return map[string]any{"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
}

// IsReset reports whether the managedFields of a client remove all owners: the list is empty, or
// has one empty entry.
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
