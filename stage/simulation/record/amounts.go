package record

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/requests"
)

// amountsOf returns what a Pod requests or a Node can allocate.
func amountsOf(obj *unstructured.Unstructured) requests.Amounts {
	if obj.GroupVersionKind().Group != "" {
		return nil
	}
	switch obj.GetKind() {
	case "Pod":
		return requests.Of(obj.Object)
	case "Node":
		allocatable, _ := object.Map(obj.Object, "status", "allocatable")
		return requests.Read(allocatable)
	}
	return nil
}

// changed returns the amounts for a record: nil if they are the same as before.
func changed(before, now requests.Amounts) Amounts {
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
