package control

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version name the API.
const (
	Group   = "control.kubestellar.io"
	Version = "v1alpha1"
)

// GroupVersion is Group and Version in apimachinery's type. GroupVersion.WithKind("Binding") is the
// kind of a Binding.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// BindingPolicy says which objects go to which clusters. It is cluster-scoped.
type BindingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BindingPolicySpec `json:"spec,omitempty"`
	Status *Status           `json:"status,omitempty"`
}

// Status is what KubeStellar says of a BindingPolicy or a Binding.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Errors             []string           `json:"errors,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// BindingPolicySpec is the definition of a BindingPolicy.
type BindingPolicySpec struct {
	// ClusterSelectors choose the destinations: every cluster that any of them matches. Empty: no
	// cluster.
	ClusterSelectors []metav1.LabelSelector `json:"clusterSelectors,omitempty"`
	// Downsync chooses the workload: every object that any clause matches.
	Downsync []DownsyncPolicyClause `json:"downsync,omitempty"`
}

// DownsyncPolicyClause matches objects that meet all of its fields, and says how to treat them.
type DownsyncPolicyClause struct {
	DownsyncModulation `json:",inline"`

	// APIGroup is the group of the object, "" for core. Absent: any.
	APIGroup *string `json:"apiGroup,omitempty"`
	// Resources are plural names in lower case. Empty, or with "*" among them: all. The same holds
	// for Namespaces and ObjectNames.
	Resources []string `json:"resources,omitempty"`
	// Namespaces are names of namespaces. If any is given, objects without a namespace do not
	// match.
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelectors are for the labels of the namespace; one of them must match. Empty: all.
	NamespaceSelectors []metav1.LabelSelector `json:"namespaceSelectors,omitempty"`
	ObjectNames        []string               `json:"objectNames,omitempty"`
	// ObjectSelectors are for the labels of the object; one of them must match. Empty: all.
	ObjectSelectors []metav1.LabelSelector `json:"objectSelectors,omitempty"`
}

// DownsyncModulation says how to treat an object. If several clauses match the object, a flag holds
// if one of them has it, and all their collectors apply.
type DownsyncModulation struct {
	// CreateOnly creates the object in a cluster and never updates it there.
	CreateOnly bool `json:"createOnly,omitempty"`
	// StatusCollectors are the names of the StatusCollectors to apply.
	StatusCollectors []string `json:"statusCollectors,omitempty"`
	// WantSingletonReportedState asks for the status of the one destination in the object itself.
	WantSingletonReportedState bool `json:"wantSingletonReportedState,omitempty"`
	// WantMultiWECReportedState asks for the status of several destinations in the object itself.
	WantMultiWECReportedState bool `json:"wantMultiWECReportedState,omitempty"`
}

// Binding is the result of the BindingPolicy of the same name: which objects go to which clusters.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BindingSpec `json:"spec,omitempty"`
	Status *Status     `json:"status,omitempty"`
}

// BindingSpec lists objects and clusters.
type BindingSpec struct {
	Workload     Workload      `json:"workload,omitempty"`
	Destinations []Destination `json:"destinations,omitempty"`
}

// Workload lists objects.
type Workload struct {
	ClusterScope   []DownsyncClause `json:"clusterScope,omitempty"`
	NamespaceScope []DownsyncClause `json:"namespaceScope,omitempty"`
}

// DownsyncClause is one object of a Binding, at the version that was bound.
type DownsyncClause struct {
	Group           string `json:"group"`
	Version         string `json:"version"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`

	DownsyncModulation `json:",inline"`
}

// Destination names a cluster.
type Destination struct {
	ClusterID string `json:"clusterId,omitempty"`
}
