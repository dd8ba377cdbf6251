// Package form converts CustomResourceDefinitions to the internal type that the packages of
// k8s.io/apiextensions-apiserver take.
package form

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Of returns a definition as the internal type, with the defaults of v1. It does not change the
// fields.
func Of(fields map[string]any) (*apiextensions.CustomResourceDefinition, error) {
	given, into := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, given); err != nil {
		return nil, err
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(given)
	if len(given.Status.StoredVersions) == 0 {
		given.Status.StoredVersions = nil
	}
	return into, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(given, into, nil)
}
