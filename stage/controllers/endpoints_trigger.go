package controllers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// triggerTimeKey is the annotation of a slice that says when what its last write is about happened.
const triggerTimeKey = "endpoints.kubernetes.io/last-change-trigger-time"

// triggers remember of each Service which changes of its Pods its slices have told of already.
type triggers map[types.NamespacedName]trigger

type trigger struct {
	service types.UID
	pods    map[string]string // when each Pod last became ready or not ready
}

// next takes in the Pods of a Service and returns the time of the earliest change since the last call; that of the creation of the Service at the
// first one, "" if nothing has changed but the number of Pods.
func (t triggers) next(service *unstructured.Unstructured, selected []pod) string {
	before := t[nameOf(service)]
	now := trigger{service: service.GetUID(), pods: map[string]string{}}
	var earliest string
	for _, p := range selected {
		at := p.condition("Ready").field("lastTransitionTime")
		if at == "" {
			continue
		}
		now.pods[p.GetName()] = at
		if at > before.pods[p.GetName()] && (earliest == "" || at < earliest) {
			earliest = at
		}
	}
	t[nameOf(service)] = now
	if before.service != now.service {
		return text(service.Object, "metadata", "creationTimestamp")
	}
	return earliest
}
