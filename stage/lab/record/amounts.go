package record

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// amountsOf returns what a Pod requests or a Node can allocate.
func amountsOf(obj *unstructured.Unstructured) resources.Amounts {
	if obj.GroupVersionKind().Group != "" {
		return nil
	}
	switch obj.GetKind() {
	case "Pod":
		return resources.OfPod(obj)
	case "Node":
		return resources.Allocatable(obj)
	}
	return nil
}

// changed returns the amounts for a record: nil if they are the same as before.
func changed(before, now resources.Amounts) Amounts {
	if maps.Equal(before, now) {
		return nil
	}
	a := make(Amounts, len(now))
	for name, n := range now {
		a[name] = float64(n)
		if name == "cpu" {
			a[name] /= 1000
		}
	}
	return a
}
