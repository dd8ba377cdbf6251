package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

const selectedNodeKey = "volume.kubernetes.io/selected-node"

// claimNames are the PersistentVolumeClaims of a Pod.
func claimNames(obj *unstructured.Unstructured) (names []string) {
	for _, v := range trees(obj.Object, "spec", "volumes") {
		switch {
		case v["ephemeral"] != nil:
			names = append(names, obj.GetName()+"-"+text(v, "name"))
		case v["persistentVolumeClaim"] != nil:
			names = append(names, text(v, "persistentVolumeClaim", "claimName"))
		}
	}
	return names
}

// unboundClaims are the claims of a Pod that wait for it to be given a node. The error is an unfitError if a claim is missing, or is to be bound
// before.
func (c call) unboundClaims(p *unstructured.Unstructured) (unbound []*unstructured.Unstructured, err error) {
	for _, name := range claimNames(p) {
		claim := c.Cache.Get(volumeClaims, types.NamespacedName{Namespace: p.GetNamespace(), Name: name})
		switch {
		case claim == nil:
			return nil, &unfitError{before: fmt.Sprintf("persistentvolumeclaim %q not found", name)}
		case isTerminating(claim):
			return nil, &unfitError{before: fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)}
		case text(claim.Object, "status", "phase") == "Bound":
		case !c.waitsForConsumer(claim):
			return nil, &unfitError{before: "pod has unbound immediate PersistentVolumeClaims"}
		default:
			unbound = append(unbound, claim)
		}
	}
	return unbound, nil
}

// selectNode tells claims where their first Pod will run.
func (c call) selectNode(claims []*unstructured.Unstructured, node string) error {
	for _, claim := range claims {
		if annotation(claim, selectedNodeKey) == node {
			continue
		}
		if _, err := c.merge(claim, map[string]any{"metadata": map[string]any{"annotations": map[string]any{selectedNodeKey: node}}}); err != nil {
			return err
		}
	}
	return nil
}

// classOf returns the StorageClass of a claim: the one that it names, or the newest that is the default. It is nil if there is none.
func (c call) classOf(claim *unstructured.Unstructured) *unstructured.Unstructured {
	if name, named := object.String(claim.Object, "spec", "storageClassName"); named {
		return c.Cache.Get(storageClasses, types.NamespacedName{Name: name})
	}
	var newest *unstructured.Unstructured
	for _, class := range c.Cache.List(storageClasses, "") {
		if annotation(class, defaultClassKey) == "true" && (newest == nil || byAge(newest, class) < 0) {
			newest = class
		}
	}
	return newest
}

const defaultClassKey = "storageclass.kubernetes.io/is-default-class"

// waitsForConsumer reports whether a claim is bound only when a Pod that uses it has a node.
func (c call) waitsForConsumer(claim *unstructured.Unstructured) bool {
	class := c.classOf(claim)
	return class != nil && text(class.Object, "volumeBindingMode") == "WaitForFirstConsumer"
}
