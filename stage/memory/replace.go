package memory

import (
	"maps"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// replace stores the next version of an object. next can share parts with the stored version or
// with other objects.
func (r *request) replace(old *record, next map[string]any) (*unstructured.Unstructured, error) {
	before := r.before.Object
	if err := r.checkVersion(metadataOf(before), metadataOf(next)); err != nil {
		return nil, err
	}
	next = r.isolate(before, next)
	if err := r.settleMetadata(before, next); err != nil {
		return nil, err
	}
	if faults := r.checkStatus(before, next); len(faults) > 0 {
		return nil, apierrors.NewInvalid(r.kind.GroupKind(), r.Name.Name, faults)
	}
	if err := r.fill(before, next); err != nil {
		return nil, err
	}
	if err := r.own(before, next); err != nil {
		return nil, err
	}
	if err := r.admits(before, next); err != nil {
		return nil, err
	}
	if err := r.review(before, next); err != nil {
		return nil, err
	}
	revertTimes(before, next)
	return r.storeNext(old, before, next)
}

// storeNext stores the next version of an object, unless it is stored already.
func (r *request) storeNext(old *record, before, next map[string]any) (*unstructured.Unstructured, error) {
	r.count(before, next)
	stored, err := r.inStorage(before, next)
	if err != nil {
		return nil, err
	}
	r.view.putOthers()
	if is := r.seen.Object; patch.Equal(is["status"], stored["status"]) && patch.Equal(is, stored) { // the status is compared first, because in most writes only the status differs
		return old.object(), nil
	}
	r.warn(before, next)
	switch {
	case r.dryRun:
	case finished(metadataOf(next)):
		r.drop(old)
	default:
		r.putWeighed(old, stored, r.view.bytes)
		return old.object(), nil
	}
	return &unstructured.Unstructured{Object: next}, nil
}

// settleMetadata copies the metadata, so that it can be changed. It refuses changes that are
// forbidden for every update, and undoes changes that the server ignores. The root of next is not
// shared.
func (r *request) settleMetadata(before, next map[string]any) error {
	old, shared := metadataOf(before), metadataOf(next)
	metadata := maps.Clone(shared)
	next["metadata"] = metadata
	if same(old, shared) {
		return nil
	}
	if r.Subresource == "" {
		r.given = metadata["managedFields"]
	}
	dropEmpty(metadata)
	if faults := checkUpdate(old, metadata); len(faults) > 0 {
		return apierrors.NewInvalid(r.kind.GroupKind(), r.Name.Name, faults)
	}
	restore(old, metadata)
	return nil
}

func (r *request) checkVersion(before, next map[string]any) error {
	if same(before, next) {
		return nil
	}
	version, _ := next["resourceVersion"].(string)
	if version != "" {
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return answer(err)
		}
	}
	switch {
	case anyVersion(version) && r.kind.has(versioned):
		return r.mustHaveVersion()
	case !anyVersion(version) && version != before["resourceVersion"]:
		return r.modified()
	}
	return nil
}

// anyVersion reports whether a write with this resourceVersion applies to any version of the
// object.
func anyVersion(version string) bool { return version == "" || version == "0" }

func (r *request) modified() error {
	return apierrors.NewConflict(r.resource(), r.Name.Name, errModified)
}

// isolate keeps the stored status in a write of the object, and keeps everything else in a write of
// the status. As in the API server, a write to the status of a built-in kind can also change
// labels, annotations and finalizers. A write to the status of a custom kind cannot. The root of
// the result is not shared.
func (r *request) isolate(before, next map[string]any) map[string]any {
	switch {
	case r.Subresource == "status" && r.statusOnly, r.Subresource == "binding":
		return next
	case r.Subresource == "status":
		return r.isolateStatus(before, next)
	}
	if r.kind.Status {
		next = withField(next, "status", before["status"])
	} else {
		next = maps.Clone(next)
	}
	next["apiVersion"], next["kind"] = before["apiVersion"], before["kind"]
	return next
}

func (r *request) isolateStatus(before, next map[string]any) map[string]any {
	root := withField(before, "status", next["status"])
	if old, metadata := metadataOf(before), metadataOf(next); !same(old, metadata) {
		root["metadata"] = r.kind.statusMetadata(old, metadata)
	}
	return root
}

func withField(obj map[string]any, name string, v any) map[string]any {
	obj = maps.Clone(obj)
	obj[name] = v
	if v == nil {
		delete(obj, name)
	}
	return obj
}

// statusMetadata is the metadata after a status write.
func (k *kind) statusMetadata(before, next map[string]any) map[string]any {
	if k.traits&ownMeta == ownMeta {
		return before
	}
	if k.has(ownLabels) {
		next = withField(next, "labels", before["labels"])
	}
	if k.has(ownOwners) {
		next = withField(next, "ownerReferences", before["ownerReferences"])
	}
	return next
}

// serverFields of the metadata cannot be written; attempts are ignored.
var serverFields = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion", "selfLink", "managedFields",
}

// restore sets the fields that writes cannot change to their stored values.
func restore(before, next map[string]any) {
	for _, field := range serverFields {
		next[field] = before[field]
		if before[field] == nil {
			delete(next, field)
		}
	}
	next["uid"] = before["uid"]
}

// count increments the generation if a field outside metadata and status has changed. A binding,
// which only assigns a Node to a Pod, does not count.
func (r *request) count(before, next map[string]any) {
	if r.kind.has(counted) && (r.Subresource == "" || r.Subresource == "scale") && r.contentChanged(before, next) && !r.binds(before, next) {
		bump(metadataOf(next))
	}
}

// binds reports whether the only change of a Pod's spec is its new Node. A scheduler without the
// subresource binding writes spec.nodeName.
func (r *request) binds(before, next map[string]any) bool {
	if r.kind.GroupKind() != podKind {
		return false
	}
	old, _ := object.Map(before, "spec")
	spec, _ := object.Map(next, "spec")
	was, _ := old["nodeName"].(string)
	is, _ := spec["nodeName"].(string)
	if was != "" || is == "" {
		return false
	}
	bound := map[string]any{}
	maps.Copy(bound, old)
	bound["nodeName"] = is
	return patch.Equal(bound, spec)
}

var podKind = schema.GroupKind{Kind: "Pod"}

func bump(metadata map[string]any) {
	if n, ok := metadata["generation"].(int64); ok {
		metadata["generation"] = n + 1
	}
}

func (r *request) contentChanged(before, next map[string]any) bool {
	if r.kind.has(annotated) && !patch.Equal(metadataOf(before)["annotations"], metadataOf(next)["annotations"]) {
		return true
	}
	for name := range next {
		if r.isContent(name) && !patch.Equal(before[name], next[name]) {
			return true
		}
	}
	for name := range before {
		if _, kept := next[name]; !kept && r.isContent(name) {
			return true
		}
	}
	return false
}

func (r *request) isContent(field string) bool {
	return field != "metadata" && (field != "status" || !r.kind.Status)
}
