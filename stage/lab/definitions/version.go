package definitions

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A version is the compiled schema of a version of a custom kind. It is immutable.
type version struct {
	schema     *structural.Structural
	validator  validation.SchemaValidator
	status     validation.SchemaValidator // nil: the schema has no status
	rules      *cel.Validator             // nil: the schema has no rules
	scale      *apiextensions.CustomResourceSubresourceScale
	namespaced bool
	openapi    *spec.Schema
	weights    *weights
	patterns   rulePatterns
}

// compile compiles the schema of a version.
func compile(crd *apiextensions.CustomResourceDefinition, name string) (*version, error) {
	v := &version{namespaced: crd.Spec.Scope == apiextensions.NamespaceScoped}
	sub, err := apiextensions.GetSubresourcesForVersion(crd, name)
	if err != nil {
		return nil, err
	}
	if sub != nil {
		v.scale = sub.Scale
	}
	given, err := apiextensions.GetSchemaForVersion(crd, name)
	if err != nil || given == nil || given.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("version %s has no schema: %w", name, err)
	}
	root := given.OpenAPIV3Schema
	if v.schema, err = structural.NewStructural(root); err != nil {
		return nil, err
	}
	if v.validator, v.openapi, err = validation.NewSchemaValidator(root); err != nil {
		return nil, err
	}
	if status, is := root.Properties["status"]; is {
		if v.status, _, err = validation.NewSchemaValidator(&status); err != nil {
			return nil, err
		}
	}
	v.weights = weightsOf(v.schema)
	v.patterns.add(v.schema)
	v.rules = cel.NewValidator(v.schema, true, celconfig.PerCallLimit)
	return v, nil
}

// prune removes fields that the schema does not have, and nulls where there must be none.
func (v *version) prune(obj map[string]any) {
	pruning.Prune(obj, v.schema, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.schema)
	_ = objectmeta.Coerce(nil, obj, v.schema, false, true) // of embedded objects; what cannot be read is dropped
}

func (v *version) fill(obj map[string]any) { defaulting.Default(obj, v.schema) }

// unknown prunes an object and returns the paths of the fields that it removed.
func (v *version) unknown(obj map[string]any) ([]string, error) {
	metadata, found, paths, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	paths = append(paths, pruning.PruneWithOptions(obj, v.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	fault, embedded := objectmeta.CoerceWithOptions(nil, obj, v.schema, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fault != nil {
		return nil, fault
	}
	paths = append(paths, embedded...)
	if found {
		err = objectmeta.SetObjectMeta(obj, metadata)
	}
	return paths, err
}
