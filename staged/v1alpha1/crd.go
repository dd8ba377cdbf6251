package v1alpha1

import _ "embed"

//go:embed crd.yaml
var crd string

// CRD returns the manifest of the CustomResourceDefinition, in YAML, for kubectl apply.
func CRD() string { return crd }
