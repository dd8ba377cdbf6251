package simulation

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
)

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// hasKubelet reports whether Stages may be played on an object. It returns false for a Pod on a
// Node whose kubelet does nothing.
func (s *Simulation) hasKubelet(obj *unstructured.Unstructured) bool {
	if s.options.Kubelet == nil || obj.GroupVersionKind() != pods {
		return true
	}
	node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
	return node == "" || s.kubelets[node]
}

// observeKubelet observes the Pods of a Node again when its kubelet stops or continues.
func (s *Simulation) observeKubelet(event watch.EventType, node *unstructured.Unstructured) {
	if s.options.Kubelet == nil {
		return
	}
	name, now := node.GetName(), node
	if event == watch.Deleted {
		now = nil
	}
	runs := s.options.Kubelet(now)
	if runs == s.kubelets[name] {
		return
	}
	s.kubelets[name] = runs
	if len(s.set.Stages(pods)) == 0 {
		return
	}
	on, err := s.shared.List(context.Background(), pods, "", metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		return // the cluster has no Pods
	}
	for i := range on.Items {
		s.consider(stage.KeyOf(&on.Items[i]), &on.Items[i])
	}
}
