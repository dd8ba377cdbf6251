package wait

import (
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// holds reports whether an object is Current on a weaker basis than its goal demands, and has not
// been so for long enough.
func (c *Collector) holds(s State) bool {
	g := c.policy.goal(s.Ref)
	r := s.Result
	if g.Basis == 0 || s.wanted != kstatus.Current || r.Status != kstatus.Current || r.Basis == 0 || r.Basis >= g.Basis {
		return false
	}
	return g.HoldOn == 0 || s.Time.Sub(s.Since) < g.HoldOn
}

// isHeld reports whether an object would have reached its goal on a better basis.
func (s State) isHeld() bool {
	return s.phase == pending && s.wanted == kstatus.Current && s.Result.Status == kstatus.Current && !s.Result.Suspended
}

// limitHold plans when a held object has been Current for long enough.
func (t *tracker) limitHold(i int32) {
	s := &t.states[i]
	limit := t.policy.goal(s.Ref).HoldOn
	if limit == 0 || !s.isHeld() {
		delete(t.held.at, i)
		return
	}
	t.held.set(i, s.Since.Add(limit))
}

// letGo ends the wait for the objects that have been Current for long enough.
func (t *tracker) letGo(now time.Time) {
	for _, i := range t.held.take(now) {
		s := t.states[i]
		s.Time = now
		t.set(i, s)
		t.report(i)
	}
}
