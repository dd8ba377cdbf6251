package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// PlayOptions of [Play]. The zero value is the default.
type PlayOptions struct {
	// Options of the loop. Its Trace also gets the watches that failed, with the kind as the
	// Controller.
	Options
	// Namespace limits the read objects to one namespace. All objects of cluster-scoped kinds are
	// read. Default all.
	Namespace string
	// Timeout is the longest time of one request; after it the request counts as failed. Default
	// 30s.
	Timeout time.Duration
}

// Play runs controllers in real time, or in virtual time within a testing/synctest bubble, until
// ctx is done, and returns context.Cause(ctx). All its goroutines have then ended. The first call
// of a controller comes after the objects of every kind have been listed. Failed requests, watches
// and reconciles do not end Play; it tries them again. It returns an error at once without a
// transport, or if [Check] finds a fault.
func Play(ctx context.Context, t transport.Transport, o PlayOptions, controllers ...Controller) error {
	if t == nil {
		return errors.New("reconcile: no transport")
	}
	if err := Check(controllers...); err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	t = listwatch.Bounded(t, cmp.Or(o.Timeout, listwatch.RequestTimeout))
	p := &runner{loop: NewLoop(t, o.Options, controllers...), updates: make(chan watchUpdate)}
	var all sync.WaitGroup
	for _, kind := range p.loop.Kinds() {
		w := &watcher{kind: kind, updates: p.updates}
		p.unlisted++
		all.Go(func() { w.run(ctx, t, o.Namespace) })
	}
	p.run(ctx)
	p.loop.Stop()
	all.Wait()
	return context.Cause(ctx)
}

// A runner passes time and events to a loop. Only the runner's goroutine uses the loop.
type runner struct {
	loop     *Loop
	updates  chan watchUpdate
	unlisted int // the number of kinds that were not listed yet
}

// A watchUpdate is a report of a watcher.
type watchUpdate struct {
	event  watch.Event
	listed bool  // the first list is complete
	failed error // the watch failed
	kind   schema.GroupVersionKind
}

func (p *runner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if p.receive() {
			continue
		}
		now := time.Now()
		if p.unlisted == 0 && p.loop.Step(ctx, now) {
			continue
		}
		timer.Reset(p.wait(now))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case u := <-p.updates:
			p.handle(u)
		}
	}
}

// receive handles one update that has already arrived: updates come before due keys.
func (p *runner) receive() bool {
	select {
	case u := <-p.updates:
		p.handle(u)
		return true
	default:
		return false
	}
}

func (p *runner) handle(u watchUpdate) {
	switch {
	case u.listed:
		p.unlisted--
	case u.failed != nil:
		if trace := p.loop.options.Trace; trace != nil {
			trace(TraceEvent{Time: time.Now(), Controller: u.kind.String(), Err: fmt.Errorf("watch: %w", u.failed)})
		}
	default:
		p.loop.Observe(u.event, time.Now())
	}
}

// wait returns the time until something is due.
func (p *runner) wait(now time.Time) time.Duration {
	at, ok := p.loop.NextDue()
	if !ok || p.unlisted > 0 {
		return time.Hour
	}
	return at.Sub(now)
}
