package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A history is the list of actions of a scheduler in a scenario.
type history struct {
	attempts []attempt
	changes  []change
	last     map[string]string // the state of each Pod
}

// An attempt is one scheduling cycle.
type attempt struct {
	at      time.Duration
	pod     string
	outcome string                      // "to NODE", or the message of the Event FailedScheduling
	scores  map[string]map[string]int64 // weighted, by plugin and Node
}

// A change is a change of the state of a Pod.
type change struct {
	at   time.Duration
	text string
}

// Each cycle of kube-scheduler takes cycleTime here, so that no two Pods enter its queue at the
// same time. A deletion takes latency: other writes of its cycle are seen before it, and the next
// cycle sees it. All events within an instant count as simultaneous.
const (
	cycleTime = 3 * time.Millisecond
	latency   = 2 * time.Millisecond
	instant   = time.Second
)

func newHistory() *history { return &history{last: map[string]string{}} }

func (a attempt) String() string {
	return fmt.Sprintf("%v tries %s: %s", a.at.Truncate(instant), a.pod, a.outcome)
}

// end notes how the attempt of a Pod ended.
func (h *history) end(pod, outcome string) {
	for i := range slices.Backward(h.attempts) {
		if a := &h.attempts[i]; a.pod == pod && a.outcome == "" {
			a.outcome = outcome
			return
		}
	}
}

// note records the state of a Pod, if it is new.
func (h *history) note(at time.Duration, pod, state string) {
	if h.last[pod] != state {
		h.last[pod] = state
		h.changes = append(h.changes, change{at.Truncate(instant), pod + " " + state})
	}
}

// stateOf returns the fields of a Pod that a scheduler writes.
func stateOf(p *corev1.Pod) string {
	p = p.DeepCopy()
	s := fmt.Sprintf("on %q nominated %q terminating %v", p.Spec.NodeName, p.Status.NominatedNodeName, p.DeletionTimestamp != nil)
	slices.SortFunc(p.Status.Conditions, func(a, b corev1.PodCondition) int { return cmp.Compare(a.Type, b.Type) })
	for _, c := range p.Status.Conditions {
		s += fmt.Sprintf(", %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return s
}

// finalChanges are the states of Pods at the end of each instant: schedulers write them in several
// steps, whose order has no meaning.
func (h *history) finalChanges() (lines []string) {
	type key struct {
		at  time.Duration
		pod string
	}
	final := map[key]string{}
	for _, c := range h.changes {
		pod, state, _ := strings.Cut(c.text, " ")
		final[key{c.at, pod}] = state
	}
	keys := slices.SortedFunc(maps.Keys(final), func(a, b key) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(a.pod, b.pod)
	})
	for _, k := range keys {
		lines = append(lines, fmt.Sprintf("%v %s %s", k.at, k.pod, final[k]))
	}
	return lines
}

func nameOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
