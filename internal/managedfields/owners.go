package managedfields

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// mostUpdaters is the largest number of managers of updates of an object. The oldest further
// managers are merged under the name ancient.
const (
	mostUpdaters = 10
	ancient      = "ancient-changes"
)

// owners are the entries of managedFields, by the identity of the manager.
type owners struct {
	fields fieldpath.ManagedFields
	times  map[string]string
	stored map[string]entry
}

// entry is an entry as it is stored, with the fields that it has.
type entry struct {
	value  map[string]any
	fields *fieldpath.Set
}

// identify returns the text that identifies a manager. Entries of an apply have one for all versions.
func identify(e metav1.ManagedFieldsEntry) string {
	if e.Operation == metav1.ManagedFieldsOperationApply {
		e.APIVersion = ""
	}
	return strings.Join([]string{e.Manager, string(e.Operation), e.APIVersion, e.Subresource}, separator)
}

const separator = "\x00"

// identified is the inverse of identify.
func identified(id string) (e metav1.ManagedFieldsEntry) {
	parts := strings.Split(id, separator)
	return metav1.ManagedFieldsEntry{Manager: parts[0], Operation: metav1.ManagedFieldsOperationType(parts[1]), APIVersion: parts[2], Subresource: parts[3]}
}

// Check refuses managedFields that cannot be read.
func Check(entries []any) error {
	_, err := decode(entries)
	return err
}

func decode(entries []any) (*owners, error) {
	o := &owners{fieldpath.ManagedFields{}, map[string]string{}, map[string]entry{}}
	for i, v := range entries {
		value, _ := object.ToMap(v)
		e, err := readEntry(i, value)
		if err != nil {
			return nil, err
		}
		id := identify(e)
		set := fieldpath.NewSet()
		tree, _ := object.Map(value, "fieldsV1")
		if err := readSet(set, tree); err != nil {
			return nil, fmt.Errorf("error decoding set: %w", err)
		}
		o.fields[id] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(e.APIVersion), e.Operation == metav1.ManagedFieldsOperationApply)
		o.times[id], _ = object.String(value, "time")
		o.stored[id] = entry{value, set}
	}
	return o, nil
}

func readEntry(i int, value map[string]any) (e metav1.ManagedFieldsEntry, err error) {
	e.Manager, _ = object.String(value, "manager")
	e.APIVersion, _ = object.String(value, "apiVersion")
	e.Subresource, _ = object.String(value, "subresource")
	operation, _ := object.String(value, "operation")
	e.Operation = metav1.ManagedFieldsOperationType(operation)
	form, _ := object.String(value, "fieldsType")
	switch {
	case e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate:
		return e, errors.New("operation must be `Apply` or `Update`")
	case e.APIVersion == "":
		return e, errors.New("apiVersion must not be empty")
	case form == "":
		return e, fmt.Errorf("missing fieldsType in managed fields entry %d", i)
	case form != "FieldsV1":
		return e, fmt.Errorf("invalid fieldsType %q in managed fields entry %d", form, i)
	}
	return e, nil
}

// readSet reads the form FieldsV1. Kinds of elements that are not known are left out.
func readSet(into *fieldpath.Set, tree map[string]any) error {
	for text, v := range tree {
		if text == "." {
			continue // a member of the set above
		}
		element, err := fieldpath.DeserializePathElement(text)
		if errors.Is(err, fieldpath.ErrUnknownPathElementType) {
			continue
		}
		if err != nil {
			return err
		}
		children, _ := object.ToMap(v)
		if _, isMember := children["."]; isMember || len(children) == 0 {
			into.Members.Insert(element)
		}
		if _, isMember := children["."]; len(children) > 1 || len(children) == 1 && !isMember {
			if err := readSet(into.Children.Descend(element), children); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSet is the inverse of readSet.
func writeSet(set *fieldpath.Set) (map[string]any, error) {
	tree := map[string]any{}
	var fault error
	at := func(element fieldpath.PathElement) map[string]any {
		text, err := fieldpath.SerializePathElement(element)
		fault = cmp.Or(fault, err)
		child, ok := tree[text].(map[string]any)
		if !ok {
			child = map[string]any{}
			tree[text] = child
		}
		return child
	}
	set.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := set.Children.Get(element)
		text, err := fieldpath.SerializePathElement(element)
		child, e := writeSet(below)
		fault = cmp.Or(fault, err, e)
		tree[text] = child
	})
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if child := at(element); len(child) > 0 {
			child["."] = map[string]any{}
		}
	})
	return tree, fault
}

// owns reports whether a manager owns one of the fields.
func (o *owners) owns(fields *fieldpath.Set) bool {
	for _, v := range o.fields {
		if !v.Set().Intersection(fields).Empty() {
			return true
		}
	}
	return false
}

// set gives a manager exactly these fields, or none.
func (o *owners) set(id string, v fieldpath.VersionedSet) {
	if v == nil {
		delete(o.fields, id)
		return
	}
	o.fields[id] = v
}

// gain gives a manager these fields in addition to its fields.
func (o *owners) gain(id string, v fieldpath.VersionedSet, now string) {
	if old, ok := o.fields[id]; ok {
		v = fieldpath.NewVersionedSet(v.Set().Union(old.Set()), v.APIVersion(), v.Applied())
	}
	o.fields[id], o.times[id] = v, now
}

// limit merges the oldest managers of updates if there are too many.
func (o *owners) limit() {
	var updaters []string
	for id, v := range o.fields {
		if !v.Applied() {
			updaters = append(updaters, id)
		}
	}
	slices.SortFunc(updaters, func(a, b string) int { return cmp.Or(cmp.Compare(o.times[a], o.times[b]), cmp.Compare(a, b)) })
	first := map[fieldpath.APIVersion]string{}
	for i, left := 0, len(updaters); i < len(updaters) && left > mostUpdaters; i++ {
		id := updaters[i]
		v := o.fields[id]
		if first[v.APIVersion()] == "" {
			first[v.APIVersion()] = id
			continue
		}
		o.bury(id, first[v.APIVersion()])
		left--
	}
}

// bury merges a manager into the ancient manager of its version. The first merged manager becomes
// the ancient one.
func (o *owners) bury(id, first string) {
	v := o.fields[id]
	bucket := identify(metav1.ManagedFieldsEntry{Manager: ancient, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: string(v.APIVersion())})
	if o.fields[bucket] == nil {
		o.fields[bucket] = o.fields[first]
		delete(o.fields, first)
	}
	o.fields[bucket] = fieldpath.NewVersionedSet(v.Set().Union(o.fields[bucket].Set()), v.APIVersion(), false)
	o.times[bucket] = o.times[id]
	delete(o.fields, id)
}

// encode returns managedFields in their order.
func (o *owners) encode() ([]any, error) {
	list := make([]map[string]any, 0, len(o.fields))
	for id := range o.fields {
		e, err := o.entry(id)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b map[string]any) int {
		for _, field := range [...]string{"operation", "time", "manager", "apiVersion", "subresource"} {
			x, _ := a[field].(string)
			y, _ := b[field].(string)
			if x != y {
				return cmp.Compare(x, y)
			}
		}
		return 0
	})
	var out []any
	for _, e := range list {
		out = append(out, e)
	}
	return out, nil
}

// entry returns the stored entry if it has not changed.
func (o *owners) entry(id string) (map[string]any, error) {
	v, old := o.fields[id], o.stored[id]
	if was, _ := old.value["time"].(string); old.value != nil && was == o.times[id] && old.fields.Equals(v.Set()) && old.value["apiVersion"] == string(v.APIVersion()) {
		return old.value, nil
	}
	fields, err := writeSet(v.Set())
	if err != nil {
		return nil, err
	}
	entry := newEntry(id, fields, o.times[id])
	entry["apiVersion"] = string(v.APIVersion())
	return entry, nil
}

func newEntry(id string, fields map[string]any, now string) map[string]any {
	e := identified(id)
	out := map[string]any{"apiVersion": e.APIVersion, "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": e.Manager, "operation": string(e.Operation)}
	if now != "" {
		out["time"] = now
	}
	if e.Subresource != "" {
		out["subresource"] = e.Subresource
	}
	return out
}
