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

// triggerTimes remember, by Service, which changes of its Pods were written into its slices.
type triggerTimes map[types.NamespacedName]serviceState

type serviceState struct {
	uid      types.UID
	podTimes map[string]string // by name, when the Pod last became ready or not ready
}

// all takes in all Pods of a Service and returns the time of the earliest change since the last call. At
// the first call that is the creation of the Service. It is "" if only the number of Pods has changed.
func (t triggerTimes) all(service *unstructured.Unstructured, selected []pods.Pod) string {
	before := t[control.NameOf(service)]
	now := serviceState{uid: service.GetUID(), podTimes: map[string]string{}}
	earliest := ""
	for _, p := range selected {
		earliest = earlier(earliest, now.take(p, before.podTimes[p.GetName()]))
	}
	t[control.NameOf(service)] = now
	if before.uid != now.uid {
		return fields.String(service.Object, "metadata", "creationTimestamp")
	}
	return earliest
}

// some is all for the Pods that have changed. A Pod without object is gone.
func (t triggerTimes) some(service *unstructured.Unstructured, changed map[string]pods.Pod) (earliest string) {
	state := t[control.NameOf(service)]
	for name, p := range changed {
		before := state.podTimes[name]
		delete(state.podTimes, name)
		if p.Unstructured != nil {
			earliest = earlier(earliest, state.take(p, before))
		}
	}
	return earliest
}

// take notes when a Pod last became ready or not ready, and returns it if it is after the time before.
func (s serviceState) take(p pods.Pod, before string) string {
	at := p.Condition("Ready").Field("lastTransitionTime")
	if at == "" {
		return ""
	}
	s.podTimes[p.GetName()] = at
	if at > before {
		return at
	}
	return ""
}

// earlier returns the earlier of two times; "" is none.
func earlier(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}
