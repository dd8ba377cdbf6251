package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// kinds are the kinds that a cluster in memory would store.
type kinds map[schema.GroupVersionKind]bool

// kinds returns the built-in kinds, the kinds of the options, and the kinds that the items define.
func (r *reader) kinds() kinds {
	known := kinds{}
	for _, k := range memory.New(memory.Options{Kinds: r.options.Kinds}).Kinds() {
		known[k.GroupVersionKind] = true
	}
	for _, i := range r.items {
		if i.GroupVersionKind().GroupKind() != definition {
			continue
		}
		for _, k := range servedBy(i.Unstructured) {
			known[k] = true
		}
	}
	return known
}

var definition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// whyNot says why an object is left out; "" if it is not.
func (known kinds) whyNot(i item) string {
	kind := i.GroupVersionKind()
	if known[kind] {
		return ""
	}
	var versions []string
	for k := range known {
		if k.GroupKind() == kind.GroupKind() {
			versions = append(versions, k.GroupVersion().String())
		}
	}
	if len(versions) > 0 {
		slices.Sort(versions)
		return fmt.Sprintf("%s is here in %s, not in %s; ask kubectl for this version: kubectl get %s.%s.%s", kind.Kind, strings.Join(versions, " and "), kind.GroupVersion(), strings.ToLower(kind.Kind), strings.TrimPrefix(versions[0], kind.Group+"/"), kind.Group)
	}
	return fmt.Sprintf("%s has no kind %s here, and no CustomResourceDefinition of it was read", kind.GroupVersion(), kind.Kind)
}

// isLater reports whether an item is a later version of an object than another item, or the same
// version in a group that comes first.
func isLater(a, b item) bool {
	x, _ := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, _ := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(b.GroupVersionKind().Group, a.GroupVersionKind().Group)) > 0
}

// lastWrite returns the latest time that an object names at which something wrote it.
func lastWrite(obj *unstructured.Unstructured) time.Time {
	last := obj.GetCreationTimestamp().Time
	for _, entry := range obj.GetManagedFields() {
		if entry.Time != nil {
			last = later(last, entry.Time.Time)
		}
	}
	for _, path := range [...][]string{{"spec", "renewTime"}, {"lastTimestamp"}, {"eventTime"}, {"series", "lastObservedTime"}} {
		text, _, _ := unstructured.NestedString(obj.Object, path...)
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			last = later(last, at)
		}
	}
	return last
}
