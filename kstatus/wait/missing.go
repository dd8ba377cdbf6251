package wait

import (
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// limits are the times at which something has lasted too long for objects.
type limits struct {
	at  map[int32]time.Time // by the index of the object
	due time.Time           // no object is due before; zero: without a plan
}

func (l *limits) set(i int32, at time.Time) {
	l.at[i] = at
	l.due = first(l.due, at)
}

// take removes and returns the objects that are due, in the order of the references.
func (l *limits) take(now time.Time) (due []int32) {
	if l.due.IsZero() || l.due.After(now) {
		return nil
	}
	l.due = time.Time{}
	for i, at := range l.at {
		if at.After(now) {
			l.due = first(l.due, at)
			continue
		}
		due = append(due, i)
		delete(l.at, i)
	}
	slices.Sort(due)
	return due
}

// isMissing reports whether an object that is still waited for cannot be seen: it does not exist,
// or its kind must not be read. That a look-up failed for another reason says nothing of it.
func (s *State) isMissing() bool {
	forbidden := s.Result.Status == kstatus.Unknown && s.Result.Reason == forbiddenReason
	return s.phase == pending && (forbidden || s.Result.Status == kstatus.NotFound)
}

// limitMissing plans when a missing object has been missing for too long.
func (t *tracker) limitMissing(i int32) {
	s := &t.states[i]
	limit := t.policy.goal(s.Ref).MissingTimeout
	if limit == 0 || !s.isMissing() {
		delete(t.missing.at, i)
		return
	}
	t.missing.set(i, s.Since.Add(limit))
}

// giveUpMissing gives up the objects that have been missing for too long.
func (t *tracker) giveUpMissing(now time.Time) {
	for _, i := range t.missing.take(now) {
		t.enter(i, missing)
		t.states[i].Time = now
		t.report(i)
	}
}
