package wait

import (
	"context"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// For waits until every object has reached its goal, and then returns nil. All goroutines that it
// started have ended when it returns.
//
// The error is an [ErrInvalid] if the arguments are wrong; nothing was looked up then. Otherwise it
// is an [*Error]: ctx has ended, or objects failed, timed out or are missing and there is nothing
// more to wait for.
//
// For watches a cluster that is a [transport.Watcher] and polls any other, and the kinds that cannot be
// watched (Forbidden, MethodNotSupported). The verdicts are the same.
func For(ctx context.Context, cluster transport.Lister, refs []Ref, policy Policy) error {
	if err := check(cluster, refs, policy); err != nil {
		return err
	}
	began := time.Now()
	s := open(ctx, cluster, newTracker(refs, policy, began))
	defer s.close()
	limits, look := timeoutsOf(s.Collector), firstLook{}
	for !s.Done() || len(s.changed) > 0 {
		limit := limits.next(began)
		state, ok := s.next(first(first(limit, look.end(s.Collector)), policy.nextReport()))
		s.hasLooked = look.isOver()
		switch {
		case ok:
			policy.report(s.Collector, state)
		case ctx.Err() != nil && s.Done():
			return result(s.Collector, nil)
		case ctx.Err() != nil:
			return result(s.Collector, endOf(ctx))
		case !limit.IsZero() && !time.Now().Before(limit):
			s.giveUp(limits.pass())
			policy.reportTime(s.Collector)
		default:
			policy.reportTime(s.Collector)
		}
	}
	return result(s.Collector, nil)
}

// A firstLook limits how long a wait that fails fast looks for objects that it has not seen yet.
type firstLook struct{ until time.Time }

// end returns when the look ends: half a minute after there was a reason to end the wait. The zero
// time means that there is no reason.
func (f *firstLook) end(c *Collector) time.Time {
	switch {
	case !c.failsFast():
		f.until = time.Time{}
	case f.until.IsZero():
		f.until = time.Now().Add(patience)
	}
	return f.until
}

func (f *firstLook) isOver() bool { return !f.until.IsZero() && !time.Now().Before(f.until) }

func (p *Policy) report(c *Collector, s State) {
	if p.Report != nil {
		p.Report.Report(c, s)
	}
	if p.Observe != nil {
		p.Observe(c, s)
	}
}

// reportTime reports that time has passed and no object has changed.
func (p *Policy) reportTime(c *Collector) {
	if p.Report != nil {
		p.Report.idle(c, time.Now())
	}
}

// nextReport returns the time of the next report if nothing changes; zero: never.
func (p *Policy) nextReport() time.Time {
	if p.Report == nil {
		return time.Time{}
	}
	return p.Report.due(time.Now())
}

// first returns the earlier of two times. The zero time means none.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// result returns the error of a wait that has ended, also because of a context: nil if every object
// has reached its goal.
func result(c *Collector, end error) error {
	var all causes
	if end != nil {
		all = append(all, end)
	}
	p := c.Progress()
	for _, cause := range []struct {
		n   int
		err error
	}{{p.Failed, ErrFailed}, {p.Missing, ErrMissing}, {p.TimedOut, ErrTimedOut}} {
		if cause.n > 0 {
			all = append(all, cause.err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return newError(c, all[0])
	}
	return newError(c, all)
}

// timeouts are the different timeouts of the objects, the shortest first.
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

// next returns the time of the first timeout, zero without one.
func (t timeouts) next(began time.Time) time.Time {
	if len(t) == 0 {
		return time.Time{}
	}
	return began.Add(t[0])
}

// pass removes and returns the first timeout.
func (t *timeouts) pass() time.Duration {
	d := (*t)[0]
	*t = (*t)[1:]
	return d
}
