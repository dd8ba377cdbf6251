package services

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// triggerTimeKey is the annotation of a slice with the time of the change that its last write is
// about.
const triggerTimeKey = "endpoints.kubernetes.io/last-change-trigger-time"

// A triggerTimeTracker remembers, by Service, which changes of its Pods were written into its
// slices.
type triggerTimeTracker map[types.NamespacedName]serviceState

type serviceState struct {
	uid      types.UID
	podTimes map[string]string // by name, when the Pod last became ready or not ready
}

// next takes in the Pods of a Service and returns the time of the earliest change since the last
// call. At the first call that is the creation of the Service. It is "" if only the number of Pods
// has changed.
func (t triggerTimeTracker) next(service *unstructured.Unstructured, selected []pods.Pod) string {
	before := t[control.NameOf(service)]
	now := serviceState{uid: service.GetUID(), podTimes: map[string]string{}}
	var earliest string
	for _, p := range selected {
		at := p.Condition("Ready").Field("lastTransitionTime")
		if at == "" {
			continue
		}
		now.podTimes[p.GetName()] = at
		if at > before.podTimes[p.GetName()] && (earliest == "" || at < earliest) {
			earliest = at
		}
	}
	t[control.NameOf(service)] = now
	if before.uid != now.uid {
		return fields.String(service.Object, "metadata", "creationTimestamp")
	}
	return earliest
}
