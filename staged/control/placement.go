package control

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Group and Version name the API.
const (
	Group   = "control.kubestellar.io"
	Version = "v1alpha1"
)

// BindingPolicy says what goes where. It is cluster-scoped.
type BindingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BindingPolicySpec `json:"spec,omitempty"`
}

// BindingPolicySpec is the definition of a BindingPolicy.
type BindingPolicySpec struct {
	// ClusterSelectors choose the destinations: clusters that any of them matches. None: no cluster.
	ClusterSelectors []metav1.LabelSelector `json:"clusterSelectors,omitempty"`
	// Downsync chooses the workload: objects that any clause matches.
	Downsync []DownsyncPolicyClause `json:"downsync,omitempty"`
}

// DownsyncPolicyClause matches objects that meet all of its fields, and says how these are to be treated.
type DownsyncPolicyClause struct {
	DownsyncModulation `json:",inline"`

	// APIGroup is the group of the object, "" for core. Absent: any.
	APIGroup *string `json:"apiGroup,omitempty"`
	// Resources are plural names in lower case. Empty, or "*" among them: all. The same holds for Namespaces and ObjectNames.
	Resources []string `json:"resources,omitempty"`
	// Namespaces are names; a named one never matches an object without namespace.
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelectors match the labels of the namespace, any of them. Empty: all.
	NamespaceSelectors []metav1.LabelSelector `json:"namespaceSelectors,omitempty"`
	ObjectNames        []string               `json:"objectNames,omitempty"`
	// ObjectSelectors match the labels of the object, any of them. Empty: all.
	ObjectSelectors []metav1.LabelSelector `json:"objectSelectors,omitempty"`
}

// DownsyncModulation says how an object is treated. Of all clauses that match it, flags are ORed and collectors united.
type DownsyncModulation struct {
	// CreateOnly leaves the object alone once it exists.
	CreateOnly bool `json:"createOnly,omitempty"`
	// StatusCollectors are the names of the StatusCollectors to apply.
	StatusCollectors []string `json:"statusCollectors,omitempty"`
	// WantSingletonReportedState asks for the status of the one destination in the object itself.
	WantSingletonReportedState bool `json:"wantSingletonReportedState,omitempty"`
	// WantMultiWECReportedState asks for the status of several destinations in the object itself.
	WantMultiWECReportedState bool `json:"wantMultiWECReportedState,omitempty"`
}

// Binding is what a BindingPolicy of the same name comes to: which objects go to which clusters.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BindingSpec `json:"spec,omitempty"`
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

// Destination is a cluster by name.
type Destination struct {
	ClusterID string `json:"clusterId,omitempty"`
}
