// Package validity has hooks that check CustomResourceDefinitions by all rules of kube-apiserver,
// such as names, versions, schemas, printer columns and the cost of CEL rules.
//
// Package definitions refuses only definitions that it cannot use, so that labs and hunts link 180
// packages less. The server of stage/lab/apiserver uses both. To use both in a lab:
//
//	lab.Cluster().Extend(validity.Hooks())
package validity

import (
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions/internal/form"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks returns hooks that refuse every definition that kube-apiserver would refuse, with all
// faults at once. They replace the hooks of [definitions.Check].
func Hooks() memory.Hooks {
	return memory.Hooks{Name: definitions.CheckName, Validate: check}
}

// check skips writes that do not change the spec: validation takes long, and controllers often write
// the metadata of definitions.
func check(v *memory.Review) error {
	isDefinition := v.Kind.GroupKind() == definitions.Kind.GroupKind()
	if !isDefinition || v.Subresource != "" || v.Old != nil && reflect.DeepEqual(v.Old.Object["spec"], v.New.Object["spec"]) {
		return nil
	}
	faults, err := faultsOf(v)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		return definitions.Check().Validate(v)
	}
	return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
}

func faultsOf(v *memory.Review) (field.ErrorList, error) {
	now, err := form.Of(v.New.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if faults := definitions.Affordable(now); len(faults) > 0 {
		return faults, nil
	}
	if v.Old == nil { // kube-apiserver fills in the rest of its status later
		now.Status = apiextensions.CustomResourceDefinitionStatus{StoredVersions: now.Status.StoredVersions}
		return validation.ValidateCustomResourceDefinition(v.Context(), now), nil
	}
	before, err := form.Of(v.Old.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return validation.ValidateCustomResourceDefinitionUpdate(v.Context(), now, before), nil
}
