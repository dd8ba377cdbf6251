package stages

import _ "embed"

//go:embed crd.yaml
var definition string

// Definition is the manifest of the CustomResourceDefinition of Stages, in YAML, for kubectl apply:
// that of kwok's kind, with a schema that refuses what cannot be a Stage. Stages made for kwok fit
// into it.
func Definition() string { return definition }
