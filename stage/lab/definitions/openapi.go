package definitions

import (
	"encoding/json"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SchemaV2 returns the schema of a version in the form of OpenAPI v2, without the fields that all
// objects have. It returns nil if OpenAPI v2 cannot express the schema.
func (x *Index) SchemaV2(crd *unstructured.Unstructured, name string) (map[string]any, error) {
	v, err := x.schema(crd, name)
	if err != nil || v.schema.XPreserveUnknownFields {
		return nil, err
	}
	return asJSON(openapiv2.ToStructuralOpenAPIV2(v.schema.Unfold()))
}

func asJSON(s *structural.Structural) (fields map[string]any, err error) {
	text, err := json.Marshal(s.ToKubeOpenAPI())
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	return fields, err
}
