package definitions

import (
	"context"
	"fmt"
	"math"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A write is the object of a write, and the stored object.
type write struct {
	*version
	now, before map[string]any           // before: nil if it is new
	correlated  *common.CorrelatedObject // values that have not changed are not validated again
	ctx         context.Context
}

// check returns what is wrong with the object of a write, in the order of kube-apiserver.
func (v *version) check(r *memory.Review) field.ErrorList {
	w := &write{version: v, now: r.New.Object, ctx: r.Context()}
	if r.Old == nil {
		return w.withRules(w.checkNew(r.New))
	}
	w.before = r.Old.Object
	w.correlated = common.NewCorrelatedObject(w.now, w.before, &model.Structural{Structural: v.schema})
	faults := apivalidation.ValidateObjectMetaAccessorUpdate(r.New, r.Old, field.NewPath("metadata"))
	if r.Subresource == "status" {
		return w.withRules(append(faults, w.checkStatus()...))
	}
	return w.withRules(append(faults, w.checkChange()...))
}

func (w *write) checkNew(obj *unstructured.Unstructured) field.ErrorList {
	faults := apivalidation.ValidateObjectMetaAccessor(obj, w.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	faults = append(faults, validation.ValidateCustomResource(nil, w.now, w.validator)...)
	faults = append(faults, w.checkScale(true)...)
	faults = append(faults, w.checkEmbedded()...)
	return append(faults, listtype.ValidateListSetsAndMaps(nil, w.schema, w.now)...)
}

func (w *write) checkChange() field.ErrorList {
	faults := validation.ValidateCustomResourceUpdate(nil, w.now, w.before, w.validator, validation.WithRatcheting(w.correlated))
	faults = append(faults, w.checkScale(true)...)
	faults = append(faults, w.checkEmbedded()...)
	return append(faults, w.checkLists()...)
}

func (w *write) checkStatus() (faults field.ErrorList) {
	if status, is := w.now["status"]; is {
		faults = validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, w.before["status"], w.status,
			validation.WithRatcheting(w.correlated.Key("status")))
	}
	faults = append(faults, w.checkScale(false)...)
	return append(faults, w.checkLists()...)
}

// checkLists checks that the elements of sets and maps are unique, unless the stored object already
// had duplicates.
func (w *write) checkLists() field.ErrorList {
	if len(listtype.ValidateListSetsAndMaps(nil, w.schema, w.before)) > 0 {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, w.schema, w.now)
}

// checkEmbedded checks the metadata of embedded objects.
func (w *write) checkEmbedded() field.ErrorList {
	switch validate := any(objectmeta.Validate).(type) { // Kubernetes 1.37 has added a context
	case func(*field.Path, any, *structural.Structural, bool) field.ErrorList:
		return validate(nil, w.now, w.schema, false)
	case func(context.Context, *field.Path, any, *structural.Structural, bool) field.ErrorList:
		return validate(w.ctx, nil, w.now, w.schema, false)
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("objectmeta.Validate is a %T", objectmeta.Validate))}
}

// withRules adds the faults that the CEL rules find. The rules do not run on an object that they
// might be unable to read.
func (w *write) withRules(faults field.ErrorList) field.ErrorList {
	if w.rules == nil {
		return faults
	}
	for _, f := range faults {
		if blocking[f.Type] {
			return append(faults, field.Invalid(nil, nil,
				"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		}
	}
	var before any
	var options []cel.Option
	if w.before != nil {
		before, options = w.before, []cel.Option{cel.WithRatcheting(w.correlated)}
	}
	found, _ := w.rules.Validate(w.ctx, nil, w.schema, w.now, before, celconfig.RuntimeCELCostBudget, options...)
	return append(faults, found...)
}

// blocking are the faults after which rules do not run.
var blocking = map[field.ErrorType]bool{
	field.ErrorTypeNotSupported: true, field.ErrorTypeRequired: true, field.ErrorTypeTooLong: true,
	field.ErrorTypeTooMany: true, field.ErrorTypeTypeInvalid: true,
}

// checkScale checks the fields that the subresource scale shows.
func (w *write) checkScale(withSpec bool) (faults field.ErrorList) {
	if w.scale == nil {
		return nil
	}
	if withSpec {
		faults = append(faults, w.checkReplicas(w.scale.SpecReplicasPath)...)
	}
	faults = append(faults, w.checkReplicas(w.scale.StatusReplicasPath)...)
	if path := w.scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(w.now, fieldsOf(*path)...); err != nil {
			faults = append(faults, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return faults
}

func (w *write) checkReplicas(path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(w.now, fieldsOf(path)...)
	invalid := func(detail string) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath(path), n, detail)}
	}
	switch {
	case err != nil:
		return invalid(err.Error())
	case n < 0:
		return invalid("should be a non-negative integer")
	case n > math.MaxInt32:
		return invalid(fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
	}
	return nil
}

// fieldsOf splits a path such as .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
