package faults

import (
	"context"
	"sync"
	"time"
)

// Answers are how a request can end.
type Answers[T any] struct {
	Do       func() (T, error) // does the request, even after the client has left
	Refused  func() (T, error) // it was not done
	Failed   func() (T, error) // the answer does not tell whether it was done
	Cut      func() (T, error) // the connection failed
	Conflict func() (T, error) // of writes
	Expired  func() (T, error) // of lists
}

// Write does a write, or not, or twice.
func Write[T any](ctx context.Context, d *Dice, a Answers[T]) (T, error) {
	switch d.Strike(Refused, Lost, Hanging, Conflict, Twice, Late) {
	case Refused:
		return a.Refused()
	case Lost:
		_, _ = a.Do()
		return a.Failed()
	case Hanging:
		if d.N(2) == 0 {
			_, _ = a.Do()
		}
		return hang[T](ctx)
	case Conflict:
		return a.Conflict()
	case Twice:
		_, _ = a.Do()
	case Late:
		after := d.millis(3000)
		go func() {
			time.Sleep(after)
			_, _ = a.Do()
		}()
		return a.Cut()
	}
	return a.Do()
}

// Read reads one object, or fails.
func Read[T any](ctx context.Context, d *Dice, a Answers[T]) (T, error) {
	switch d.Strike(Refused, Hanging) {
	case Refused:
		return a.Refused()
	case Hanging:
		return hang[T](ctx)
	}
	return a.Do()
}

// List lists objects, perhaps as they were some time ago, or fails.
func List[T any](ctx context.Context, d *Dice, former *Former[T], a Answers[T]) (T, error) {
	switch d.Strike(Refused, Expired, Stale, Hanging) {
	case Refused:
		return a.Refused()
	case Expired:
		return a.Expired()
	case Stale:
		if old, ok := former.again(); ok {
			return old, nil
		}
	case Hanging:
		return hang[T](ctx)
	}
	return a.Do()
}

func hang[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

// Former is a list of some time ago. It is given at most three times in a row: a server that lags
// behind always was restored from a backup. The zero value has no list.
type Former[T any] struct {
	mu    sync.Mutex
	list  T
	has   bool
	given int // in a row
}

// Note notes that a list was answered, and keeps every third one.
func (f *Former[T]) Note(d *Dice, list T) {
	keep := d.N(3) == 0
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = 0
	if keep {
		f.list, f.has = list, true
	}
}

func (f *Former[T]) again() (list T, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.has || f.given == 3 {
		return list, false
	}
	f.given++
	return f.list, true
}
