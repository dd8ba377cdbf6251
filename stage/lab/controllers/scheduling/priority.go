package scheduling

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// systemPriorities are the PriorityClasses that every cluster has.
var systemPriorities = map[string]int64{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}

// resolvedPodInfo reads a Pod. A Pod without a priority gets the priority of its PriorityClass, or
// of the default class. On a real cluster the API server writes it.
func resolvedPodInfo(cache *reconcile.Cache, pod *unstructured.Unstructured) *PodInfo {
	p := NewPodInfo(pod)
	spec := fields.Map(pod.Object, "spec")
	if fields.Value(spec, "priority") != nil {
		return p
	}
	name := fields.String(spec, "priorityClassName")
	p.Priority = systemPriorities[name]
	if class := priorityClassOf(cache, name); class != nil {
		p.Priority = fields.Int64(class.Object, 0, "value")
		if fields.Value(spec, "preemptionPolicy") == nil {
			p.neverPreempt = fields.String(class.Object, "preemptionPolicy") == "Never"
		}
	}
	return p
}

// priorityClassOf returns the PriorityClass with the given name. Without a name it returns the
// global default with the smallest value. It returns nil if no class matches.
func priorityClassOf(cache *reconcile.Cache, name string) (found *unstructured.Unstructured) {
	if name != "" {
		return cache.Get(kinds.PriorityClass, types.NamespacedName{Name: name})
	}
	for _, class := range cache.List(kinds.PriorityClass, "") {
		if fields.Bool(class.Object, "globalDefault") &&
			(found == nil || fields.Int64(class.Object, 0, "value") < fields.Int64(found.Object, 0, "value")) {
			found = class
		}
	}
	return found
}

// priorityClassIsKnown reports whether the PriorityClass that a Pod names exists. An API server
// refuses other Pods.
func priorityClassIsKnown(cache *reconcile.Cache, pod *unstructured.Unstructured) (name string, known bool) {
	spec := fields.Map(pod.Object, "spec")
	name = fields.String(spec, "priorityClassName")
	return name, name == "" || fields.Value(spec, "priority") != nil || systemPriorities[name] != 0 || priorityClassOf(cache, name) != nil
}
