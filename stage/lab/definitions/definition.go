package definitions

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions/internal/form"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// fillDefinition fills in the defaults of a definition.
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
	if service, is, _ := unstructured.NestedFieldNoCopy(spec, "conversion", "webhook", "clientConfig", "service"); is {
		if fields, _ := service.(map[string]any); fields != nil && fields["port"] == nil {
			spec["conversion"] = runtime.DeepCopyJSONValue(spec["conversion"])
			_ = unstructured.SetNestedField(spec, int64(443), "conversion", "webhook", "clientConfig", "service", "port")
		}
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

// storeVersion adds the storage version to status.storedVersions of a definition.
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

// Check returns hooks that refuse a definition if an Index could not check its objects.
// The hooks of package validity replace them and check everything that kube-apiserver checks.
func Check() memory.Hooks {
	return memory.Hooks{Name: CheckName, Validate: checkDefinition}
}

// CheckName is the name of hooks that check definitions. A cluster has at most one hook with this
// name.
const CheckName = "check of definitions"

func checkDefinition(v *memory.Review) error {
	if v.Resource != resource || v.Subresource != "" || v.Old != nil && reflect.DeepEqual(v.Old.Object["spec"], v.New.Object["spec"]) {
		return nil
	}
	crd, err := form.Of(v.New.Object)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if faults := Affordable(crd); len(faults) > 0 {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
	}
	if faults := schemaFaults(crd); len(faults) > 0 {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
	}
	return nil
}

// Affordable returns a fault if the patterns of a definition, all together, have more than 50,000
// states. Hooks call it before anything compiles the patterns.
func Affordable(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	return patternFaults(crd)
}

// schemaFaults returns an error for each version whose schema is missing or is not structural.
func schemaFaults(crd *apiextensions.CustomResourceDefinition) (faults field.ErrorList) {
	for i, v := range crd.Spec.Versions {
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		given, err := apiextensions.GetSchemaForVersion(crd, v.Name)
		if err != nil || given == nil || given.OpenAPIV3Schema == nil {
			faults = append(faults, field.Required(path, ""))
			continue
		}
		s, err := structural.NewStructural(given.OpenAPIV3Schema)
		if err != nil {
			faults = append(faults, field.Invalid(path, "", err.Error()))
			continue
		}
		faults = append(faults, structural.ValidateStructural(path, s)...)
	}
	return faults
}
