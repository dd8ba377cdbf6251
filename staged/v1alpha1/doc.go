// Package v1alpha1 holds the StagedBindingPolicy API of community.kubestellar.io/v1alpha1: the
// fields of the workload stager and our optional ones, their JSON tags and defaults, and the
// manifest of the CustomResourceDefinition. Package staged reads and compiles
// StagedBindingPolicies.
//
// # Compatibility
//
// A StagedBindingPolicy for the workload stager is valid here and means the same. These fields are
// its own: spec.downsync, spec.stages[].{name, clusterSelectors, filter, condition},
// status.activeStage. Every other field is ours and optional; where it is absent, nothing changes.
//
// # Concurrency
//
// The types are plain data.
package v1alpha1
