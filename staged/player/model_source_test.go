package player_test

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// settle is revisions.settle of all designs.
const settle = 2 * time.Second

// sourceTimes is when the source held which version. Changes of the source are counted from 1.
type sourceTimes struct {
	changes      int
	holds        version
	began, ended map[version]int
}

// noteSource notes which version the source holds.
func (h *history) noteSource() {
	now := h.source()
	if now == h.times.holds {
		return
	}
	if h.times.began == nil {
		h.times.began, h.times.ended = map[version]int{}, map[version]int{}
	}
	h.times.changes++
	h.times.ended[h.times.holds], h.times.began[now] = h.times.changes, h.times.changes
	h.times.holds = now
}

// checkWanted is the cut of a revision (1.1): what a player sees counts once the source has not changed for
// settle, and until then the newest revision that was cut is wanted. A player that has not seen the last change
// of the source takes nothing back that another player has cut since.
func (h *history) checkWanted(before, after v1alpha1.Status) {
	h.noteSource()
	was, is := h.versions[before.Wanted], h.versions[after.Wanted]
	if !h.kind.content() || was == is || before.Wanted == "" || h.trust || h.now.Sub(h.chosen) >= settle-10*time.Millisecond {
		return
	}
	if gone := h.times.ended[is]; is != h.times.holds && gone > 0 && gone <= h.times.began[was] {
		h.broken("S13: a status goes back from %s to %s after %v, and the source had given that up before", was, is, h.now.Sub(h.chosen))
	}
}

// arrivedAt is when a cluster had a version last. Over K0, where no version is known, it is when the cluster had
// anything first.
func (h *history) arrivedAt(cluster string, v version) (at time.Time, had bool) {
	if h.kind.content() {
		at, had = h.arrived[cluster][v]
		return at, had
	}
	for _, other := range h.arrived[cluster] {
		if !had || other.Before(at) {
			at, had = other, true
		}
	}
	return at, had
}

var awaitedClusters = regexp.MustCompile(`(?:is not delivered to|no status of the bound workload from) ([^(]+) \(`)

// checkWaits is 2.1.1: a stage waits for clusters that it selects, and for no cluster that a placement only keeps.
// Why a stage has failed, or another one was rolled back, is no wait.
func (h *history) checkWaits(a *actor, s v1alpha1.Status, d design, message string) {
	awaited, i := awaitedClusters.FindStringSubmatch(message), d.index(s.ActiveStage)
	if awaited == nil || i < 0 || !h.kind.content() || !strings.HasPrefix(message, fmt.Sprintf("stage %q: ", s.ActiveStage)) {
		return
	}
	for _, name := range strings.Split(awaited[1], ", ") {
		if a.inventory[name] != nil && !d.stages[i].selects(a.sees(name)) {
			h.broken("L2: stage %s waits for %s, which it does not select: %s", s.ActiveStage, name, message)
		}
	}
}
