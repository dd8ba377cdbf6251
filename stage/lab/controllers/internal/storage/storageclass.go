// Package storage finds the StorageClass of a PersistentVolumeClaim and the volumes that it can have.
// The scheduler and the volume controller share it.
package storage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	// SelectedNode is the annotation with which the scheduler tells a claim the Node of its first
	// Pod.
	SelectedNode = "volume.kubernetes.io/selected-node"

	isDefault = "storageclass.kubernetes.io/is-default-class"
)

// ClassOf returns the StorageClass of a claim: the class that the claim names, otherwise the newest
// default class. It returns nil without either.
func ClassOf(cache *reconcile.Cache, claim *unstructured.Unstructured) *unstructured.Unstructured {
	if name, named := object.String(claim.Object, "spec", "storageClassName"); named {
		return cache.Get(kinds.StorageClass, types.NamespacedName{Name: name})
	}
	var newest *unstructured.Unstructured
	for _, class := range cache.List(kinds.StorageClass, "") {
		if fields.Annotation(class, isDefault) == "true" && (newest == nil || fields.ByAge(newest, class) < 0) {
			newest = class
		}
	}
	return newest
}

// WaitsForConsumer reports whether claims of a class, which may be nil, are bound only when a Pod
// that uses them has a Node.
func WaitsForConsumer(class *unstructured.Unstructured) bool {
	return class != nil && fields.String(class.Object, "volumeBindingMode") == "WaitForFirstConsumer"
}
