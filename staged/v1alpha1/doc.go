// Package v1alpha1 holds the StagedBindingPolicy API of community.kubestellar.io/v1alpha1: the fields of the workload stager and our
// optional ones, their JSON tags and defaults, the manifest of its CustomResourceDefinition, and nothing else. Package staged reads and
// compiles them.
//
// # Compatibility
//
// A StagedBindingPolicy for the workload stager is valid here and means the same. Every field beyond spec.downsync, spec.stages[].{name,
// clusterSelectors, filter, condition} and status.activeStage is ours; absent, it changes nothing.
//
// # Concurrency
//
// The types are plain data.
package v1alpha1
