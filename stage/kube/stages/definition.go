package stages

import _ "embed"

//go:embed crd.yaml
var definition string

// Definition is the manifest of the CustomResourceDefinition of Stages, in YAML, for kubectl apply.
// It is the definition of kwok's kind, with a schema that refuses objects that cannot be a Stage.
// Stages made for kwok fit into it.
func Definition() string { return definition }
