package autoscaling

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	scenarios = flag.Uint64("scenarios", 20, "how many random scenarios are played")
	seed      = flag.Uint64("seed", 1, "the first one")
)

func TestScenarios(t *testing.T) {
	for i := range *scenarios {
		t.Run(fmt.Sprint("seed ", *seed+i), func(t *testing.T) {
			s := random(*seed + i)
			require.Equal(t, strings.Join(playTheirs(t, s), "\n"), strings.Join(playOurs(t, s), "\n"))
		})
	}
}

// A history is the last state of each thing at each instant at which it changed, and the Events at
// the end.
type history struct {
	start  time.Time
	mutex  *sync.Mutex
	at     map[time.Duration]map[string]string
	events map[string]map[string]int64 // how often, by their object and message
}

func newHistory(start time.Time) history {
	return history{start: start, mutex: &sync.Mutex{}, at: map[time.Duration]map[string]string{}, events: map[string]map[string]int64{}}
}

func (h history) note(now time.Time, name, state string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	at := now.Sub(h.start)
	if h.at[at] == nil {
		h.at[at] = map[string]string{}
	}
	h.at[at][name] = state
}

// noteStatus records the status of an autoscaler. A missing status is the initial status of an API
// server.
func (h history) noteStatus(now time.Time, hpa map[string]any) {
	status, _ := hpa["status"].(map[string]any)
	if len(status) <= 1 { // without it, or as a client wrote it
		status = map[string]any{"currentMetrics": nil, "desiredReplicas": 0}
	}
	data, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	h.note(now, fmt.Sprint(hpa["metadata"].(map[string]any)["name"]), anyOf(string(data)))
}

func (h history) noteEvent(about, kind, reason, message string, count int64) {
	key := about + " " + kind + " " + reason
	if h.events[key] == nil {
		h.events[key] = map[string]int64{}
	}
	h.events[key][anyOf(message)] += count
}

// anyOf orders the names of autoscalers, which theirs name in any order.
func anyOf(text string) string {
	return strings.ReplaceAll(text, "[default/web default/other]", "[default/other default/web]")
}

// count returns how often each message of an Event occurred. From ten messages on, client-go
// forgets one of them at random, so its combined Events differ from ours.
func count(event string, messages map[string]int64) (lines []string) {
	if len(messages) > 8 {
		return []string{event + " with many messages"}
	}
	for _, message := range slices.Sorted(maps.Keys(messages)) {
		if strings.Contains(message, "multiple HPAs") { // two messages of Kubernetes, each counted
			lines = append(lines, event+" "+message)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s ×%d", event, message, messages[message]))
	}
	return lines
}

// lines returns the changes, in the order of the times, and then the Events.
func (h history) lines() (lines []string) {
	last := map[string]string{}
	for _, at := range slices.Sorted(maps.Keys(h.at)) {
		for _, name := range slices.Sorted(maps.Keys(h.at[at])) {
			if state := h.at[at][name]; last[name] != state {
				last[name] = state
				lines = append(lines, fmt.Sprintf("%9.4f %s: %s", at.Seconds(), name, state))
			}
		}
	}
	for _, event := range slices.Sorted(maps.Keys(h.events)) {
		lines = append(lines, count(event, h.events[event])...)
	}
	return lines
}
