package wait

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Events returns an iterator over the changes of the states of objects, in the order in which they
// are observed. Equal states of an object are yielded once; the initial [NotSeen] is not yielded.
//
// The iteration ends when ctx ends or the caller stops it. All goroutines that it started have
// ended then. It can be used again, and begins again.
//
// The error is an [ErrInvalid]; nothing was looked up then.
func Events(ctx context.Context, cluster transport.Lister, refs []Ref, o Options) (iter.Seq[State], error) {
	if err := check(cluster, refs, Policy{Options: o}); err != nil {
		return nil, err
	}
	return func(yield func(State) bool) {
		s := open(ctx, cluster, newTracker(refs, Policy{Options: o}, time.Now()))
		defer s.close()
		for {
			state, ok := s.next(time.Time{})
			if !ok || !yield(state) {
				return
			}
		}
	}, nil
}

// A stream passes the observations of its observers to a tracker. Each observer has a goroutine;
// everything else happens in that of the caller.
type stream struct {
	*tracker
	ctx       context.Context
	cancel    context.CancelFunc
	cluster   transport.Lister
	in        chan observation
	observers sync.WaitGroup
}

func open(ctx context.Context, cluster transport.Lister, t *tracker) *stream {
	s := &stream{tracker: t, cluster: cluster, in: make(chan observation)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	t.definitions = definitionsOf(s.ctx, cluster)
	return s
}

// close ends all observers and waits for them.
func (s *stream) close() {
	s.cancel()
	s.observers.Wait()
}

// next returns the next changed state. It returns false at a time (zero: never) or when the context
// is done.
func (s *stream) next(until time.Time) (State, bool) {
	for s.ctx.Err() == nil {
		if state, ok := s.pop(); ok {
			return state, true
		}
		s.startObservers()
		if !s.step(until) {
			break
		}
	}
	return State{}, false
}

func (s *stream) startObservers() {
	for _, source := range s.start {
		o := &observer{source: source, cluster: s.cluster, options: s.options, out: s.in}
		s.observers.Go(func() { o.run(s.ctx) })
	}
	s.start = nil
}

// step waits for one observation, or for the time of a recheck or of a limit.
func (s *stream) step(until time.Time) bool {
	timer := time.NewTimer(durationUntil(s.rechecks.due, s.missing.due, s.held.due, until))
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case o := <-s.in:
		s.observe(o, time.Now())
		return true
	case <-timer.C:
		now := time.Now()
		for _, due := range s.rechecks.take(now) {
			s.observe(due.observation, now)
		}
		s.giveUpMissing(now)
		s.letGo(now)
		return until.IsZero() || now.Before(until)
	}
}

// durationUntil returns the time left until the first of the times that are not zero.
func durationUntil(times ...time.Time) time.Duration {
	d := longest
	for _, t := range times {
		if !t.IsZero() {
			d = min(d, time.Until(t))
		}
	}
	return d
}
