package player

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// A hubClock knows the time of the hub from the answers to writes. A hub that puts no times into its
// answers, such as one in memory, has the clock of this program.
type hubClock struct {
	hub, local time.Time     // of the last answer that had a time
	trip       time.Duration // how long that answer took
	timed      bool          // an answer had a time
	answered   bool
}

// The resolution of times in answers, how much a clock drifts, and which error is too large for a
// soak or a deadline to end.
const (
	resolution   = time.Second
	driftPerHour = 360 * time.Millisecond
	largestError = 5 * time.Second
)

// calibrate reads the time of the hub from the answer to a write that has changed something.
func (c *hubClock) calibrate(stored *unstructured.Unstructured, before string, sent, now time.Time) {
	if stored.GetResourceVersion() == before {
		return
	}
	c.answered = true
	var at time.Time
	for _, f := range stored.GetManagedFields() {
		if f.Time != nil && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	// A time in an answer is that of the server, rounded down: the latest of them is the best.
	estimate, trip := c.hub.Add(now.Sub(c.local)), now.Sub(sent)
	if !at.IsZero() && (!c.timed || at.After(estimate) || estimate.Sub(at) > 2*resolution+trip) {
		c.hub, c.local, c.trip, c.timed = at, now, trip, true
	}
}

// now returns the time of the hub, where that of this program is now.
func (c *hubClock) now(now time.Time) fleet.Instant {
	if !c.timed {
		return fleet.Instant{Time: now, Known: c.answered}
	}
	since := now.Sub(c.local)
	i := fleet.Instant{Time: c.hub.Add(since), Error: resolution + c.trip + time.Duration(since.Hours()*float64(driftPerHour))}
	i.Known = i.Error <= largestError
	return i
}
