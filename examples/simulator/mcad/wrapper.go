package mcad

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// An item is something that an AppWrapper wraps.
type item struct {
	template map[string]any
	replicas int64
}

// itemsOf reads the wrapped objects. An item that is not an object is an error.
func itemsOf(wrapper *unstructured.Unstructured) ([]item, error) {
	var items []item
	for i, v := range nested[[]any](wrapper.Object, "spec", "resources", "GenericItems") {
		m, _ := v.(map[string]any)
		it := item{template: nested[map[string]any](m, "generictemplate"), replicas: 1}
		if n, given := m["replicas"].(int64); given {
			it.replicas = n
		}
		if nested[string](it.template, "kind") == "" {
			return nil, fmt.Errorf("AppWrapper %s: spec.resources.GenericItems[%d].generictemplate has no kind", wrapper.GetName(), i)
		}
		items = append(items, it)
	}
	return items, nil
}

// object makes the n-th object of an item, which the AppWrapper owns.
func (it item) object(wrapper *unstructured.Unstructured, n int64) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(it.template)}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(wrapper.GetNamespace())
	}
	if it.replicas > 1 {
		obj.SetName(fmt.Sprintf("%s-%d", obj.GetName(), n))
	}
	labels := map[string]string{"appwrapper.mcad.ibm.com": wrapper.GetName(), "resourceName": wrapper.GetName()}
	maps.Copy(labels, obj.GetLabels())
	obj.SetLabels(labels)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(wrapper, wrappers)})
	return obj
}

// requestOfWrapper returns the sum of the requests of all wrapped Pods, and of the Pods of all
// wrapped Jobs.
func requestOfWrapper(wrapper *unstructured.Unstructured) resources.Amounts {
	sum := resources.Amounts{}
	items, _ := itemsOf(wrapper) // an error is reported when it is dispatched
	for _, it := range items {
		switch it.template["kind"] {
		case jobs.Kind:
			parallelism, given := nested[any](it.template, "spec", "parallelism").(int64)
			if !given {
				parallelism = 1
			}
			sum.Add(requestOf(nested[map[string]any](it.template, "spec", "template", "spec")), parallelism*it.replicas)
		case pods.Kind:
			sum.Add(requestOf(nested[map[string]any](it.template, "spec")), it.replicas)
		}
	}
	return sum
}

func nameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
