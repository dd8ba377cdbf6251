package kstatus

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Compute returns the status of an object now, by the rules of [Extended], which are right about
// twice as often as upstream's (ACCURACY.md). Standard().Compute hlike those of upstream. It is the
// only function of the package that reads the clock.
func Compute(obj *unstructured.Unstructured) Result { return extended.Compute(obj, time.Now()) }

// ComputeTyped is [Rules.Compute] for an object of a Go type, such as *appsv1.Deployment. Typed
// clients leave the kind of an object empty; the given kind is then used. The error says that the
// object is nil or cannot be converted.
func (r *Rules) ComputeTyped(obj runtime.Object, kind schema.GroupVersionKind, now time.Time) (Result, error) {
	if obj == nil {
		return Result{}, errors.New("kstatus: there is no object")
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return Result{}, fmt.Errorf("kstatus: converting a %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	if u.GroupVersionKind().Empty() {
		u.SetGroupVersionKind(kind)
	}
	return r.Compute(u, now), nil
}
