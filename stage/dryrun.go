package stage

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// effectOn returns obj after one effect: obj itself without a change, nil after its deletion.
// Effects on other objects do not change obj.
func effectOn(e Effect, obj *unstructured.Unstructured, now time.Time) (*unstructured.Unstructured, error) {
	switch e := e.(type) {
	case Patch:
		return e.dryRun(obj)
	case Apply:
		return e.dryRun(obj)
	case Delete:
		return deleted(obj, now), nil
	}
	return obj, nil
}

func (p Patch) dryRun(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	after, err := p.Result(obj)
	if err != nil {
		return nil, err
	}
	fields, ok := after.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the patch makes %T of the object", after)
	}
	if fields = within(p.Subresource, obj.Object, fields); patch.Equal(obj.Object, fields) {
		return obj, nil
	}
	patched := &unstructured.Unstructured{Object: fields}
	if patched.GetDeletionTimestamp() != nil && len(patched.GetFinalizers()) == 0 {
		return nil, nil
	}
	return patched, nil
}

// dryRun treats server-side apply as a merge: which fields an apply removes depends on their
// managers.
func (a Apply) dryRun(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	own, target := KeyOf(obj), KeyOf(a.Object)
	if target.Namespace == "" {
		target.Namespace = own.Namespace
	}
	if target != own {
		return obj, nil
	}
	p := Patch{Type: types.MergePatchType, Subresource: a.Subresource, Data: a.Object.Object}
	if a.Type == types.StrategicMergePatchType {
		p.Type = a.Type
	}
	return p.dryRun(obj)
}

// within keeps the part of a change that an API server accepts through a subresource.
func within(subresource string, before, after map[string]any) map[string]any {
	switch subresource {
	case "":
		return after
	case "status":
		kept := maps.Clone(before)
		if delete(kept, "status"); after["status"] != nil {
			kept["status"] = after["status"]
		}
		return kept
	default: // its meaning is special, such as scale and binding
		return before
	}
}

// deleted returns obj while its finalizers keep it from being removed; nil without finalizers.
func deleted(obj *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	switch {
	case len(obj.GetFinalizers()) == 0:
		return nil
	case obj.GetDeletionTimestamp() != nil:
		return obj
	}
	held := &unstructured.Unstructured{Object: object.CopyMap(obj.Object)}
	at := metav1.NewTime(now)
	held.SetDeletionTimestamp(&at)
	return held
}
