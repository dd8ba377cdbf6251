package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A history is the last state of each object at each instant at which it changed.
type history struct {
	mutex  sync.Mutex
	states map[string]string // the last ones
	at     map[time.Duration]map[string]string
}

func newHistory() *history {
	return &history{states: map[string]string{}, at: map[time.Duration]map[string]string{}}
}

func (h *history) note(at time.Duration, name, state string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.at[at] == nil {
		h.at[at] = map[string]string{}
	}
	h.at[at][name] = state
}

// lines returns the changes, in the order of the times.
func (h *history) lines() (lines []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	last := map[string]string{}
	for _, at := range slices.Sorted(maps.Keys(h.at)) {
		for _, name := range slices.Sorted(maps.Keys(h.at[at])) {
			if state := h.at[at][name]; last[name] != state {
				last[name] = state
				lines = append(lines, fmt.Sprintf("%9.4f %s: %s", at.Seconds(), name, state))
			}
		}
	}
	return lines
}

// describe returns the fields of an object that controllers write: for a Node its conditions and
// taints, for a Pod its phase, its conditions, and whether it is being deleted.
func describe(obj map[string]any) string {
	u := &unstructured.Unstructured{Object: obj}
	var parts []string
	if phase, _, _ := unstructured.NestedString(obj, "status", "phase"); phase != "" {
		parts = append(parts, phase)
	}
	conditions, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
	for _, v := range conditions {
		c := v.(map[string]any)
		message, _ := c["message"].(string)
		reason, _ := c["reason"].(string)
		parts = append(parts, fmt.Sprintf("%v=%v %s %s", c["type"], c["status"], reason, message))
	}
	taints, _, _ := unstructured.NestedSlice(obj, "spec", "taints")
	var keys []string
	for _, v := range taints {
		t := v.(map[string]any)
		keys = append(keys, fmt.Sprint(t["key"], ":", t["effect"]))
	}
	slices.Sort(keys)
	if u.GetDeletionTimestamp() != nil {
		keys = append(keys, "terminating")
	}
	return strings.Join(append(parts, keys...), "; ")
}
