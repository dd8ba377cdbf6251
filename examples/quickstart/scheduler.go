package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A node has the fields of a Node that the scheduler reads.
type node struct {
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// watchNode remembers a Node that is Ready, and binds the Pods that waited for one.
func (c *cluster) watchNode(ctx context.Context, event watch.EventType, obj *unstructured.Unstructured) error {
	n, err := decode[node](obj)
	if err != nil {
		return err
	}
	if event == watch.Deleted || !isTrue(n.Status.Conditions, "Ready") {
		if c.node == n.Name {
			c.node = ""
		}
		return nil
	}
	c.node = n.Name
	waiting, err := c.List(ctx, podKind, "", metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return err
	}
	for i := range waiting.Items {
		if err := c.schedule(ctx, watch.Modified, &waiting.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// schedule binds a Pod without a Node to the Ready Node. It ignores the requests of the Pod. An API
// server would set the condition PodScheduled in the same write; here that would take a second
// write, which the study's table does not have.
func (c *cluster) schedule(ctx context.Context, _ watch.EventType, obj *unstructured.Unstructured) error {
	bound, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
	if c.node == "" || bound != "" || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	binding := fmt.Appendf(nil, `{"spec": {"nodeName": %q}}`, c.node)
	_, err := c.Patch(ctx, podKind, nameOf(obj), types.MergePatchType, binding, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

func nameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ignoreNotFound ignores the error that an object no longer exists when it is written.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
