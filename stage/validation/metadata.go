package validation

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// metadata checks what every object has, as ValidateObjectMeta and ValidateObjectMetaUpdate of
// apimachinery's api/validation and of core/validation do. Names are checked by the cluster.
func metadata(f *faults, v *memory.Review) {
	m, path := nested(v.New.Object, "metadata"), field.NewPath("metadata")
	generation(f, v, path.Child("generation"))
	if m["labels"] != nil {
		labels(fieldOf{f, path.Child("labels"), m["labels"], m})
	}
	if m["annotations"] != nil {
		f.list = append(f.list, apivalidation.ValidateAnnotations(texts(m["annotations"]), path.Child("annotations"))...)
	}
	if refs := list(m["ownerReferences"]); !areSoundOwners(refs) {
		owners(f, refs, path.Child("ownerReferences"))
	}
	if m["finalizers"] != nil {
		finalizers(f, v, list(m["finalizers"]), path.Child("finalizers"))
	}
}

func generation(f *faults, v *memory.Review, path *field.Path) {
	n, _ := nested(v.New.Object, "metadata")["generation"].(int64)
	switch {
	case v.Old == nil && n < 0:
		f.add(field.Invalid(path, n, "must be greater than or equal to 0"))
	case v.Old == nil:
	default:
		if old, _ := nested(v.Old.Object, "metadata")["generation"].(int64); n < old {
			f.add(field.Invalid(path, n, "must not be decremented"))
		}
	}
}

// areSoundOwners reports whether nothing is wrong with owner references.
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

func owners(f *faults, refs []any, path *field.Path) {
	all := make([]metav1.OwnerReference, len(refs))
	for i, v := range refs {
		m, _ := v.(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &all[i]); err != nil {
			return // the schema refuses it
		}
	}
	f.list = append(f.list, apivalidation.ValidateOwnerReferences(all, path)...)
}

func finalizers(f *faults, v *memory.Review, list []any, path *field.Path) {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = text(e)
	}
	if v.Old == nil {
		f.list = append(f.list, apivalidation.ValidateFinalizers(names, path)...)
	}
	if _, known := kinds[v.Resource]; !known || v.Resource.Group == "admissionregistration.k8s.io" {
		return
	}
	for i, name := range names {
		if isStandard := name == "kubernetes" || name == "orphan" || name == "foregroundDeletion"; !isStandard && !strings.Contains(name, "/") {
			f.add(field.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
}
