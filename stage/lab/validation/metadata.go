package validation

import (
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// metadata checks the metadata of every object, as ValidateObjectMeta and ValidateObjectMetaUpdate
// of apimachinery's api/validation and of core/validation do. The cluster has checked the names.
func metadata(f *faults, v *memory.Review) {
	f.list = append(f.list, v.NameFaults...)
	m := nested(v.New.Object, "metadata")
	generation(f, v)
	if all, _ := m["labels"].(map[string]any); !isPlainMap(all) {
		labels(fieldOf{f, metadataPath, "labels", all, m})
	}
	if m["annotations"] != nil {
		f.list = append(f.list, apivalidation.ValidateAnnotations(texts(m["annotations"]), metadataPath.Child("annotations"))...)
	}
	if refs := list(m["ownerReferences"]); !areSoundOwners(refs) {
		owners(f, refs, metadataPath.Child("ownerReferences"))
	}
	if m["finalizers"] != nil {
		finalizers(f, v, list(m["finalizers"]), metadataPath.Child("finalizers"))
	}
}

var metadataPath = field.NewPath("metadata")

func generation(f *faults, v *memory.Review) {
	n, _ := nested(v.New.Object, "metadata")["generation"].(int64)
	switch {
	case v.Old == nil && n < 0:
		f.add(field.Invalid(metadataPath.Child("generation"), n, "must be greater than or equal to 0"))
	case v.Old == nil:
	default:
		if old, _ := nested(v.Old.Object, "metadata")["generation"].(int64); n < old {
			f.add(field.Invalid(metadataPath.Child("generation"), n, "must not be decremented"))
		}
	}
}

// areSoundOwners reports whether owner references are certainly valid.
func areSoundOwners(refs []any) bool {
	controllers := 0
	for _, v := range refs {
		m, _ := v.(map[string]any)
		if m["controller"] == true {
			controllers++
		}
		version := text(m["apiVersion"])
		if version == "" || strings.Count(version, "/") > 1 || strings.HasSuffix(version, "/") || text(m["kind"]) == "" || m["kind"] == "Event" || text(m["name"]) == "" || text(m["uid"]) == "" {
			return false
		}
	}
	return controllers < 2
}

// owners checks owner references, as ValidateOwnerReferences of Kubernetes 1.36 does: in later
// versions of apimachinery this function has other texts.
func owners(f *faults, refs []any, path *field.Path) {
	controller := ""
	for i, v := range refs {
		m, _ := v.(map[string]any)
		owner(f, m, path)
		if m["controller"] != true || isIn(refs[:i], m) { // the server drops duplicates
			continue
		}
		name := text(m["kind"]) + "/" + text(m["name"])
		if controller != "" {
			f.add(field.Invalid(path, ownersOf(refs), fmt.Sprintf("Only one reference can have Controller set to true. Found \"true\" in references for %v and %v", controller, name)))
			continue
		}
		controller = name
	}
}

func owner(f *faults, m map[string]any, path *field.Path) {
	group, version, _ := strings.Cut(text(m["apiVersion"]), "/")
	if version == "" && !strings.Contains(text(m["apiVersion"]), "/") {
		group, version = "", group
	}
	if version == "" || strings.Contains(version, "/") {
		f.add(field.Invalid(path.Child("apiVersion"), text(m["apiVersion"]), "version must not be empty"))
	}
	for _, name := range ownerFields {
		if text(m[name]) == "" {
			f.add(field.Invalid(path.Child(name), "", "must not be empty"))
		}
	}
	if m["kind"] == "Event" && (group == "" || group == "events.k8s.io") && version != "" {
		f.add(field.Invalid(path, ownersOf([]any{m})[0], fmt.Sprintf("%s/%s, Kind=Event is disallowed from being an owner", group, version)))
	}
}

var ownerFields = [...]string{"kind", "name", "uid"}

func isIn(refs []any, m map[string]any) bool {
	return slices.ContainsFunc(refs, func(v any) bool { return object.DeepEqual(v, m) })
}

// ownersOf returns owner references in the form of error messages.
func ownersOf(refs []any) []metav1.OwnerReference {
	all := make([]metav1.OwnerReference, len(refs))
	for i, v := range refs {
		m, _ := v.(map[string]any)
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, &all[i]) // a value of another type is not printed
	}
	return all
}

func finalizers(f *faults, v *memory.Review, list []any, path *field.Path) {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = text(e)
	}
	f.list = append(f.list, apivalidation.ValidateFinalizers(names, path)...)
	if _, known := kinds[v.Resource]; !known || !f.isStrict && freeFinalizers[v.Resource.Group+"/"+v.Resource.Resource] {
		return
	}
	for i, name := range names {
		if !standardFinalizers[name] && !strings.Contains(name, "/") {
			f.add(field.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
}

// freeFinalizers are the kinds whose finalizers need not be qualified.
var freeFinalizers = map[string]bool{"/events": true, "policy/poddisruptionbudgets": true, "coordination.k8s.io/leases": true, "node.k8s.io/runtimeclasses": true}
