package kubelet

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A history is a list of events by time.
type history struct {
	start   time.Time
	mu      sync.Mutex
	entries []entry
	events  map[string]bool
}

type entry struct {
	at   time.Duration
	text string
}

func newHistory(start time.Time) *history { return &history{start: start, events: map[string]bool{}} }

func (h *history) add(at time.Time, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := (entry{at.Sub(h.start), text}); !slices.Contains(h.entries, e) {
		h.entries = append(h.entries, e)
	}
}

// event notes the first Event of each text: kubelets record some at each sync.
func (h *history) event(at time.Time, kind, reason, message string) {
	text := fmt.Sprintf("Event %s %s: %s", kind, reason, message)
	h.mu.Lock()
	known := h.events[text]
	h.events[text] = true
	h.mu.Unlock()
	if !known {
		h.add(at, text)
	}
}

func (h *history) count() int { return len(h.entries) }

// lines are sorted, because events at one time have no order.
func (h *history) lines() (lines []string) {
	slices.SortFunc(h.entries, func(a, b entry) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return slices.Compare([]string{a.text}, []string{b.text})
	})
	for _, e := range h.entries {
		if e.at <= horizon {
			lines = append(lines, fmt.Sprintf("%s %s", e.at, e.text))
		}
	}
	return lines
}
