package memory

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	byApply  = "Apply"
	byUpdate = "Update"

	// beforeApply is the manager that owns the fields which an object has before its first apply,
	// as in an API server that finds an object without managedFields.
	beforeApply = "before-first-apply"
)

// owner is one entry of managedFields.
type owner struct {
	manager, operation, subresource string
	version                         string // apiVersion of the entry
	fields                          map[path]bool
	entry                           map[string]any // as stored; nil if it is new or has changed
}

// apply carries out a server-side apply.
func (r *request) apply(body any, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	config, err := r.admitApply(body, o)
	if err != nil {
		return nil, err
	}
	old, err := r.stored()
	if apierrors.IsNotFound(err) && r.Subresource == "" {
		return r.applyNew(config)
	}
	if err != nil {
		return nil, err
	}
	if r.Subresource == "status" {
		config = map[string]any{"metadata": map[string]any{}, "status": config["status"]}
	} else if r.kind.Status {
		delete(config, "status")
	}
	next, err := r.applyTo(old.object().Object, config, o.Force != nil && *o.Force)
	if err != nil {
		return nil, err
	}
	return r.replace(old, next)
}

// admitApply checks a configuration. A null in it is treated as a missing field.
func (r *request) admitApply(body any, o metav1.PatchOptions) (map[string]any, error) {
	if o.FieldManager == "" {
		fault := field.Required(field.NewPath("fieldManager"), "is required for apply patch")
		return nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "", fieldErrors{fault})
	}
	config, _ := patch.Merge(nil, body).(map[string]any)
	if config == nil {
		return nil, apierrors.NewBadRequest("error decoding patch: a configuration must be an object")
	}
	if err := wellFormed(config); err != nil {
		return nil, err
	}
	metadata := metadataOf(config)
	if metadata["managedFields"] != nil {
		return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	if !r.kind.ClusterScoped && metadata["namespace"] == nil {
		metadata["namespace"] = r.Name.Namespace
	}
	if r.kind.ClusterScoped {
		delete(metadata, "namespace")
	}
	if err := r.checkSameKind(config, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return config, r.checkSameObject(config)
}

func (r *request) applyNew(config map[string]any) (*unstructured.Unstructured, error) {
	if r.kind.Status {
		delete(config, "status")
	}
	mine := owner{manager: r.manager, operation: byApply, fields: pathSet(leavesOf(r.kind.schema, config))}
	r.managed = r.entries([]owner{mine})
	return r.create(config, false)
}

// applyTo merges the configuration into an object, removes the fields that the manager no longer
// applies, and updates which manager owns which field.
func (r *request) applyTo(before, config map[string]any, force bool) (map[string]any, error) {
	wanted := leavesOf(r.kind.schema, config)
	owners := r.owners(before)
	mine, others := r.split(owners)
	if err := settleConflicts(others, wanted, leavesOf(r.kind.schema, before), force); err != nil {
		return nil, err
	}
	next, err := patch.Strategic(r.kind.schema, before, config)
	if err != nil {
		return nil, unprocessable(err)
	}
	next = inApplyOrder(r.kind.schema, before, config, next)
	for p := range mine.fields {
		if _, kept := wanted[p]; !kept && !owned(others, p) {
			next = withoutPath(next, p)
		}
	}
	if fields := pathSet(wanted); !maps.Equal(fields, mine.fields) {
		mine.fields, mine.entry = fields, nil
	}
	r.managed = r.entries(append([]owner{mine}, others...))
	return next, nil
}

func withoutPath(obj map[string]any, p path) map[string]any {
	rest, _ := without(obj, p.parts())
	return rest.(map[string]any)
}

func pathSet(l leaves) map[path]bool {
	set := make(map[path]bool, len(l))
	for p := range l {
		set[p] = true
	}
	return set
}

// owned reports whether a manager owns the path or, for an element of a list, a field of the
// element.
func owned(owners []owner, p path) bool {
	inside, element := strings.CutSuffix(string(p), ".")
	for _, o := range owners {
		if o.fields[p] {
			return true
		}
		for q := range o.fields {
			if element && strings.HasPrefix(string(q), inside) {
				return true
			}
		}
	}
	return false
}

// settleConflicts finds the fields that other managers own and that would change. With force, the
// other managers lose them; without, they are an error.
func settleConflicts(others []owner, wanted, present leaves, force bool) error {
	var causes []metav1.StatusCause
	found := map[string][]string{} // paths by manager
	for i := range others {
		for _, p := range slices.Sorted(maps.Keys(others[i].fields)) {
			v, applied := wanted[p]
			if !applied || patch.Equal(v, present[p]) {
				continue
			}
			others[i].lose(p)
			who := others[i].String()
			found[who] = append(found[who], p.String())
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + who, Field: p.String()})
		}
	}
	if force || len(causes) == 0 {
		return nil
	}
	return apierrors.NewApplyConflict(causes, conflictText(causes, found))
}

// conflictText is the message of kube-apiserver for conflicts.
func conflictText(causes []metav1.StatusCause, found map[string][]string) string {
	if len(causes) == 1 {
		return fmt.Sprintf("Apply failed with 1 conflict: %s: %s", causes[0].Message, causes[0].Field)
	}
	var lines []string
	for _, who := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, fmt.Sprintf("conflicts with %s:", who))
		for _, p := range found[who] {
			lines = append(lines, "- "+p)
		}
	}
	return fmt.Sprintf("Apply failed with %d conflicts: %s", len(causes), strings.Join(lines, "\n"))
}

// String names an owner as conflicts do.
func (o owner) String() string {
	name := fmt.Sprintf("%q", o.manager)
	if o.subresource != "" {
		name += fmt.Sprintf(" with subresource %q", o.subresource)
	}
	if o.operation == byUpdate {
		name += " using " + o.version
	}
	return name
}

// keyInPath is a name in the key of a list's element.
var keyInPath = regexp.MustCompile(`(^|,)"([^"]+)":`)

// String prints a path as kubectl does: .spec.containers[name="a"].image.
func (p path) String() string {
	var b strings.Builder
	for _, part := range p.parts() {
		switch text := part[min(2, len(part)):]; {
		case part == ".":
		case strings.HasPrefix(part, "f:"):
			b.WriteString("." + text)
		default:
			b.WriteString("[" + keyInPath.ReplaceAllString(strings.Trim(text, `{}`), "$1$2=") + "]")
		}
	}
	return b.String()
}

func (o *owner) lose(p path) {
	if o.fields[p] {
		delete(o.fields, p)
		o.entry = nil
	}
}

func (o *owner) gain(p path) {
	if !o.fields[p] {
		o.fields[p], o.entry = true, nil
	}
}

// owners reads managedFields. The fields that an object has before its first apply belong to the
// owner beforeApply.
func (r *request) owners(obj map[string]any) (found []owner) {
	list, _ := object.Slice(obj, "metadata", "managedFields")
	for _, v := range list {
		entry, _ := object.ToMap(v)
		o := owner{fields: map[path]bool{}, entry: entry}
		o.manager, _ = object.String(entry, "manager")
		o.operation, _ = object.String(entry, "operation")
		o.subresource, _ = object.String(entry, "subresource")
		o.version, _ = object.String(entry, "apiVersion")
		tree, _ := object.Map(entry, "fieldsV1")
		pathsOf("", tree, o.fields)
		found = append(found, o)
	}
	if found == nil {
		all := pathSet(leavesOf(r.kind.schema, obj))
		found = []owner{{manager: beforeApply, operation: byUpdate, version: r.kind.GroupVersion().String(), fields: all}}
	}
	return found
}

// split returns the entry of the manager of this request, which may be new, and the other entries.
func (r *request) split(owners []owner) (mine owner, others []owner) {
	mine = owner{manager: r.manager, operation: byUpdate, subresource: r.Subresource, version: r.kind.GroupVersion().String(), fields: map[path]bool{}}
	if r.applies() {
		mine.operation = byApply
	}
	for _, o := range owners {
		if o.manager == mine.manager && o.operation == mine.operation && o.subresource == mine.subresource {
			mine = o
		} else {
			others = append(others, o)
		}
	}
	return mine, others
}

func (r *request) applies() bool { return r.Verb == "apply" }

// entries writes managedFields, in an order that is always the same. Owners without fields are left
// out.
func (r *request) entries(owners []owner) []any {
	slices.SortFunc(owners, func(a, b owner) int {
		return strings.Compare(a.operation+a.manager+"/"+a.subresource, b.operation+b.manager+"/"+b.subresource)
	})
	list := []any{}
	for _, o := range owners {
		if len(o.fields) == 0 {
			continue
		}
		if o.entry == nil {
			o.entry = r.entry(o)
		}
		list = append(list, o.entry)
	}
	return list
}

func (r *request) entry(o owner) map[string]any {
	entry := map[string]any{
		"manager":    o.manager,
		"operation":  o.operation,
		"apiVersion": r.kind.GroupVersion().String(),
		"time":       r.timestamp(0),
		"fieldsType": "FieldsV1",
		"fieldsV1":   fieldsV1(o.fields),
	}
	if o.subresource != "" {
		entry["subresource"] = o.subresource
	}
	return entry
}

// own updates managedFields after a write. Objects that were never applied have none.
func (r *request) own(before, next map[string]any) {
	switch {
	case r.managed != nil:
		metadataOf(next)["managedFields"] = r.managed
	case metadataOf(before)["managedFields"] != nil:
		metadataOf(next)["managedFields"] = r.reassign(before, next)
	}
}

// ownNew gives all fields of a new object to the manager of this request. An object without fields
// has no managedFields.
func (r *request) ownNew(root map[string]any) {
	mine, _ := r.split(nil)
	mine.fields = pathSet(leavesOf(r.kind.schema, root))
	if list := r.entries([]owner{mine}); len(list) > 0 {
		metadataOf(root)["managedFields"] = list
	}
}

// reassign gives the fields that changed to the manager of this request.
func (r *request) reassign(before, next map[string]any) []any {
	old, now := leavesOf(r.kind.schema, before), leavesOf(r.kind.schema, next)
	mine, others := r.split(r.owners(before))
	for p, v := range now {
		if was, ok := old[p]; ok && patch.Equal(was, v) {
			continue
		}
		mine.gain(p)
		for i := range others {
			others[i].lose(p)
		}
	}
	for p := range old {
		if _, kept := now[p]; kept {
			continue
		}
		mine.lose(p)
		for i := range others {
			others[i].lose(p)
		}
	}
	return r.entries(append(others, mine))
}
