package timing

import (
	"errors"
	"iter"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/timequeue"
)

// ErrStopped is the error of Sleep after [Tasks.Stop].
var ErrStopped = errors.New("stopped in the middle")

// Tasks are functions that sleep in virtual time. Only one of them runs at a time. The zero value
// has no task and is ready to use. A sleeping task has a goroutine: call Stop to end tasks that do
// not end by themselves.
type Tasks struct {
	queue   timequeue.Queue[*task]
	asleep  map[*task]struct{}
	now     time.Time
	running *task
	stopped bool
}

// A task is one function.
type task struct {
	timequeue.Timer
	next  func() (struct{}, bool) // runs it until it sleeps again, or ends
	stop  func()
	yield func(struct{}) bool
}

// Start runs a function until it ends, or sleeps for the first time.
func (s *Tasks) Start(now time.Time, do func()) {
	s.now = now
	t := &task{}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		do()
	})
	if s.asleep == nil {
		s.asleep = map[*task]struct{}{}
	}
	s.asleep[t] = struct{}{}
	s.run(t)
}

func (s *Tasks) run(t *task) {
	before := s.running
	s.running = t
	defer func() { s.running = before }()
	if _, sleeps := t.next(); !sleeps {
		delete(s.asleep, t)
	}
}

// Now returns the time at which a task runs.
func (s *Tasks) Now() time.Time { return s.now }

// Sleep waits until a time; it returns at once if the time is past. Only tasks call it. Other tasks
// run meanwhile. The error is ErrStopped.
func (s *Tasks) Sleep(until time.Time) error {
	if s.stopped {
		return ErrStopped
	}
	if s.running == nil || !until.After(s.now) {
		return nil
	}
	s.queue.Set(s.running, until)
	return s.park(s.running)
}

// park suspends a task until its time in the queue has come.
func (s *Tasks) park(t *task) error {
	if !t.yield(struct{}{}) || s.stopped {
		return ErrStopped
	}
	return nil
}

// All calls do for 0 to n-1, each in a separate task, and returns when these tasks have ended. Only
// tasks call it.
func (s *Tasks) All(n int, do func(int)) {
	parent, left, parked := s.running, n, false
	for i := range n {
		s.Start(s.now, func() {
			do(i)
			if left--; left == 0 && parked && !s.stopped {
				s.queue.Set(parent, s.now)
			}
		})
	}
	if parked = left > 0; parked {
		_ = s.park(parent)
	}
}

// Next returns the earliest wake-up time of a task. It returns false without a sleeping task.
func (s *Tasks) Next() (time.Time, bool) { return s.queue.Next() }

// Resume runs the first task whose wake-up time is not after now. It returns false without such a
// task.
func (s *Tasks) Resume(now time.Time) bool {
	t, ok := s.queue.Pop(now)
	if ok {
		s.now = now
		s.run(t)
	}
	return ok
}

// Stop ends all tasks: every present and later Sleep returns ErrStopped.
func (s *Tasks) Stop() {
	s.stopped = true
	for len(s.asleep) > 0 {
		for t := range s.asleep {
			delete(s.asleep, t)
			s.queue.Remove(t)
			t.stop()
		}
	}
}
