package wait

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// For waits until every object has reached its goal, and returns nil at the first moment at which all have. When it returns, nothing that
// it began is still running.
//
// The error is an [ErrInvalid] if nothing was waited for at all, else an [*Error]: ctx has ended, or there is nothing more to wait for
// because objects failed or timed out.
//
// A transport that is a [Watcher] is watched, any other polled; the verdicts are the same.
func For(ctx context.Context, transport Lister, refs []Ref, policy Policy) error {
	if err := check(transport, refs, policy); err != nil {
		return err
	}
	began := time.Now()
	s := open(ctx, transport, newTracker(refs, policy, began))
	defer s.close()
	limits := timeoutsOf(s.Collector)
	for !s.Done() || len(s.told) > 0 {
		limit := limits.next(began)
		state, ok := s.next(first(limit, policy.tick()))
		switch {
		case ok:
			policy.tell(s.Collector, state)
		case ctx.Err() != nil && s.Done():
			return result(s.Collector)
		case ctx.Err() != nil:
			return newError(s.Collector, context.Cause(ctx))
		case !limit.IsZero() && !time.Now().Before(limit):
			s.giveUp(limits.pass())
			policy.idle(s.Collector)
		default:
			policy.idle(s.Collector)
		}
	}
	return result(s.Collector)
}

func (p *Policy) tell(c *Collector, s State) {
	if p.Report != nil {
		p.Report.Report(c, s)
	}
	if p.Observe != nil {
		p.Observe(c, s)
	}
}

// idle tells that no object has changed.
func (p *Policy) idle(c *Collector) {
	if p.Report != nil {
		p.Report.idle(c, time.Now())
	}
}

// tick is when to tell that nothing has changed; zero: never.
func (p *Policy) tick() time.Time {
	if p.Report == nil {
		return time.Time{}
	}
	return p.Report.due(time.Now())
}

// first is the earlier of two times; zero is none.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// result is the error of a wait that is done; nil: every object has reached its goal.
func result(c *Collector) error {
	p := c.Progress()
	switch {
	case p.Failed > 0 && p.TimedOut > 0:
		return newError(c, fmt.Errorf("%w, %w", ErrFailed, ErrTimedOut))
	case p.Failed > 0:
		return newError(c, ErrFailed)
	case p.TimedOut > 0:
		return newError(c, ErrTimedOut)
	}
	return nil
}

// timeouts are the different timeouts of objects, the shortest first.
type timeouts []time.Duration

func timeoutsOf(c *Collector) *timeouts {
	var all timeouts
	for s := range c.States() {
		if d := c.policy.goal(s.Ref).Timeout; d > 0 && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	slices.Sort(all)
	return &all
}

// next is the time of the next one, zero if there is none.
func (t timeouts) next(began time.Time) time.Time {
	if len(t) == 0 {
		return time.Time{}
	}
	return began.Add(t[0])
}

// pass returns the next one and goes on to the one after.
func (t *timeouts) pass() time.Duration {
	d := (*t)[0]
	*t = (*t)[1:]
	return d
}
