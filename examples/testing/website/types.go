// Package website is an operator that the tests use as an example: it runs a Website as a
// Deployment, and rolls back a version that crashes.
package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Kind is the kind of a Website.
var Kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}

// A Website is served by Pods.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

// Spec is the wanted state of a Website.
type Spec struct {
	Version  string `json:"version"`
	Replicas int32  `json:"replicas"`
}

// Status is the observed state of a Website.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Good               string             `json:"good,omitempty"`     // the last version that was up
	Rejected           string             `json:"rejected,omitempty"` // a version that did not come up
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject is a method that a code generator would write.
func (w *Website) DeepCopyObject() runtime.Object {
	c := *w
	w.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &c
}

// Scheme returns a scheme with the types of Kubernetes and Website.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s)
	s.AddKnownTypeWithName(Kind, &Website{})
	metav1.AddToGroupVersion(s, Kind.GroupVersion())
	return s
}
