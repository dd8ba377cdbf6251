package wait

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Events returns an iterator that yields each change of the state of an object, in the order in which it comes; equal states of an object
// are one, and that it was not seen yet is none. It ends with ctx, or when the caller has enough; then all it began has ended too: nothing
// is left running. It can be used again: it begins anew.
//
// The error is an [ErrInvalid], and nothing was looked for.
func Events(ctx context.Context, transport Lister, refs []Ref, o Options) (iter.Seq[State], error) {
	if err := check(transport, refs, Policy{Options: o}); err != nil {
		return nil, err
	}
	return func(yield func(State) bool) {
		s := open(ctx, transport, newTracker(refs, Policy{Options: o}, time.Now()))
		defer s.close()
		for {
			state, ok := s.next(time.Time{})
			if !ok || !yield(state) {
				return
			}
		}
	}, nil
}

// A stream feeds a tracker. Its feeds have a goroutine each; everything else happens in that of the caller.
type stream struct {
	*tracker
	ctx       context.Context
	cancel    context.CancelFunc
	transport Lister
	in        chan sighting
	feeds     sync.WaitGroup
}

func open(ctx context.Context, transport Lister, t *tracker) *stream {
	s := &stream{tracker: t, transport: transport, in: make(chan sighting)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// close ends all feeds and waits for them.
func (s *stream) close() {
	s.cancel()
	s.feeds.Wait()
}

// next returns the next change. It is false when the time is up (zero: never) or the context done.
func (s *stream) next(until time.Time) (State, bool) {
	for s.ctx.Err() == nil {
		if state, ok := s.pop(); ok {
			return state, true
		}
		s.startFeeds()
		if !s.step(until) {
			break
		}
	}
	return State{}, false
}

func (s *stream) startFeeds() {
	for _, source := range s.start {
		f := &feed{source: source, lister: s.transport, options: s.options, out: s.in}
		s.feeds.Go(func() { f.run(s.ctx) })
	}
	s.start = nil
}

// step waits for one sighting, or for the time of a recheck.
func (s *stream) step(until time.Time) bool {
	timer := time.NewTimer(untilFirst(s.rechecks.due, until))
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case sighting := <-s.in:
		s.observe(sighting, time.Now())
		return true
	case <-timer.C:
		now := time.Now()
		for _, due := range s.rechecks.take(now) {
			s.observe(due.sighting, now)
		}
		return until.IsZero() || now.Before(until)
	}
}

// untilFirst is how long it is to the first of the times that are not zero.
func untilFirst(times ...time.Time) time.Duration {
	d := longest
	for _, t := range times {
		if !t.IsZero() {
			d = min(d, time.Until(t))
		}
	}
	return d
}
