package definitions

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// fillDefinition fills in what a definition leaves open.
func fillDefinition(v *memory.Review) {
	root := v.New.Object
	spec, is := root["spec"].(map[string]any)
	if !is {
		return
	}
	spec = maps.Clone(spec)
	if names, is := spec["names"].(map[string]any); is {
		spec["names"] = filledNames(names)
	}
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	root["spec"] = spec
	storeVersion(v.New)
}

func filledNames(names map[string]any) map[string]any {
	kind, _ := names["kind"].(string)
	names = maps.Clone(names)
	for field, value := range map[string]string{"singular": strings.ToLower(kind), "listKind": kind + "List"} {
		if given, _ := names[field].(string); given == "" && kind != "" {
			names[field] = value
		}
	}
	return names
}

// storeVersion adds the version that is stored to those that the status of a definition names.
func storeVersion(crd *unstructured.Unstructured) {
	status, is := crd.Object["status"].(map[string]any)
	versions, _ := status["storedVersions"].([]any)
	name := storageVersion(crd)
	if !is || name == "" || slices.Contains(versions, any(name)) {
		return
	}
	status = maps.Clone(status)
	status["storedVersions"] = append(slices.Clone(versions), any(name))
	crd.Object["status"] = status
}

// checkDefinition refuses a definition that is not valid.
func checkDefinition(v *memory.Review) error {
	if v.Subresource != "" || v.Old != nil && isSame(v.Old, v.New) {
		return nil
	}
	faults, err := definitionFaults(v)
	if err != nil || len(faults) == 0 {
		return err
	}
	return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
}

// isSame reports whether two versions of a definition have the same spec. Validation takes long,
// and controllers write the metadata of definitions.
func isSame(before, now *unstructured.Unstructured) bool {
	return reflect.DeepEqual(before.Object["spec"], now.Object["spec"])
}

// converts refuses a definition whose objects would have to be converted by a webhook.
func converts(crd *apiextensions.CustomResourceDefinition) *field.Error {
	served := slices.DeleteFunc(slices.Clone(crd.Spec.Versions), func(v apiextensions.CustomResourceDefinitionVersion) bool { return !v.Served })
	if len(served) < 2 || crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensions.WebhookConverter {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", "conversion", "strategy"), "this server calls no conversion webhooks: serve one version, or use None")
}

func definitionFaults(v *memory.Review) (field.ErrorList, error) {
	now, err := internalOf(v.New.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if fault := converts(now); fault != nil {
		return field.ErrorList{fault}, nil
	}
	if v.Old == nil { // kube-apiserver gives it the rest of its status later
		now.Status = apiextensions.CustomResourceDefinitionStatus{StoredVersions: now.Status.StoredVersions}
		return validation.ValidateCustomResourceDefinition(context.Background(), now), nil
	}
	before, err := internalOf(v.Old.Object)
	if err != nil {
		return nil, notValid(v.Old, err)
	}
	return validation.ValidateCustomResourceDefinitionUpdate(context.Background(), now, before), nil
}
