package kstatus

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// A Child is an object that another one made, and its status.
type Child struct {
	Object *unstructured.Unstructured // nil if only the status is known
	Result Result
}
