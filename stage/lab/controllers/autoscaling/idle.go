package autoscaling

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// isIdle reports whether all further looks would find the same and write nothing until an object
// changes. Then these looks are left out, so that a cluster whose metrics are annotations can
// settle.
func (a *autoscaler) isIdle() bool {
	if !a.options.fromObjects || a.wrote || a.limitedByRate {
		return false
	}
	for _, r := range a.history.recommendations {
		if a.history.recommended && r.replicas != a.history.wanted {
			return false
		}
	}
	for _, p := range a.pods {
		if start, ok := fields.Time(p.Object, "status", "startTime"); ok && start.Add(a.options.CPUInitialization).After(a.Now) {
			return false
		}
	}
	return true
}

// wake resumes the looks after some were left out. The last of them recommended the same as all of
// them.
func (h *history) wake(now time.Time, period time.Duration) {
	h.idle = false
	last := h.next.Add(-period)
	missed := now.Sub(last) / period
	if missed == 0 {
		return
	}
	last = last.Add(missed * period)
	if n := len(h.recommendations); h.recommended {
		h.recommendations[n-1] = change{h.wanted, last}
	}
	h.next = last.Add(period)
}

// idleIn maps a change of a Pod, or of a scaled object, to the idle autoscalers of its namespace.
func (h histories) idleIn(_ *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	for name, known := range h {
		if known.idle && name.Namespace == ch.Object().GetNamespace() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	return names
}
