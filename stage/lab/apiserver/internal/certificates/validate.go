package certificates

import (
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// validate refuses what the status of a request must not say. Package validation checks the spec.
func validate(v *memory.Review) error {
	if v.Resource != requests || v.New == nil || v.Old == nil || v.Subresource != "status" {
		return nil
	}
	faults := checkConditions(v)
	faults = append(faults, checkRemoved(v)...)
	if attributes.SubresourceOf(v) != "approval" {
		faults = append(faults, checkApprovals(v)...)
	}
	before, next := fieldsOf(v.Old.Object["status"])["certificate"], fieldsOf(v.New.Object["status"])["certificate"]
	if before != nil && !reflect.DeepEqual(before, next) {
		faults = append(faults, field.Forbidden(field.NewPath("status", "certificate"), "updates may not modify existing certificate content"))
	}
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(Kind.GroupKind(), v.Name.Name, faults)
}

var conditionsPath = field.NewPath("status", "conditions")

// checkConditions checks each condition of a request. What the stored request has is no fault.
func checkConditions(v *memory.Review) (faults field.ErrorList) {
	if reflect.DeepEqual(conditions(v.Old.Object), conditions(v.New.Object)) {
		return nil
	}
	seen := map[any]bool{}
	for i, c := range conditions(v.New.Object) {
		kind, status, at := fieldsOf(c)["type"], fieldsOf(c)["status"], conditionsPath.Index(i)
		if kind == nil || kind == "" {
			faults = append(faults, field.Required(at.Child("type"), ""))
		}
		faults = append(faults, checkStatus(kind, status, at)...)
		if kind == approved && seen[denied] || kind == denied && seen[approved] {
			faults = append(faults, field.Invalid(conditionsPath, kind, "Approved and Denied conditions are mutually exclusive"))
		}
		if seen[kind] {
			faults = append(faults, field.Duplicate(at.Child("type"), kind))
		}
		seen[kind] = true
	}
	return faults
}

// checkStatus checks the status of a condition: those of approvers and signers can only be True.
func checkStatus(kind, status any, at *field.Path) field.ErrorList {
	allowed := []string{"False", "True", "Unknown"}
	if kind == approved || kind == denied || kind == failed {
		allowed = []string{"True"}
	}
	if status == nil || status == "" {
		return field.ErrorList{field.Required(at.Child("status"), "")}
	}
	for _, a := range allowed {
		if status == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at.Child("status"), fmt.Sprint(status), allowed)}
}

// checkRemoved refuses that a decision is taken back.
func checkRemoved(v *memory.Review) (faults field.ErrorList) {
	for _, kind := range []string{approved, denied, failed} {
		if len(positions(conditions(v.New.Object), kind)) < len(positions(conditions(v.Old.Object), kind)) {
			faults = append(faults, field.Forbidden(conditionsPath, fmt.Sprintf("updates may not remove a condition of type %q", kind)))
		}
	}
	return faults
}

// checkApprovals refuses that a signer approves or denies. It cannot change what approvers said, see
// keepApproval.
func checkApprovals(v *memory.Review) (faults field.ErrorList) {
	for _, kind := range []string{approved, denied} {
		if len(positions(conditions(v.New.Object), kind)) > len(positions(conditions(v.Old.Object), kind)) {
			faults = append(faults, field.Forbidden(conditionsPath, fmt.Sprintf("updates may not add a condition of type %q", kind)))
		}
	}
	return faults
}
