package memory

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errStale ends a try of a write whose object, kind or namespace has changed during a step without
// the lock. attempt tries again.
var errStale = errors.New("the object has changed meanwhile")

// unlocked does a step of a write without the lock of the store, so that other requests go on while
// the step takes its time. The step must not read the store, except by methods of Review. The
// result of the step is for the state that the request has seen: unlocked returns errStale if this
// state has changed. It also gives up a request whose context has ended.
func (r *request) unlocked(step func() error) error {
	before := r.version
	if err := r.doUnlocked(step); err != nil {
		return err
	}
	if r.version != before && !r.isCurrent() {
		return errStale
	}
	return nil
}

// doUnlocked holds the lock again when it returns, also after a panic.
func (r *request) doUnlocked(step func() error) error {
	if err := given(r.ctx); err != nil {
		return err
	}
	r.view.unlocked = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.view.unlocked = false
	}()
	return step()
}

// given returns an error for the context of a request whose client has left or whose time is up.
func given(ctx context.Context) error {
	switch {
	case ctx == nil || ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return apierrors.NewTimeoutError("request did not complete within requested timeout - "+ctx.Err().Error(), 0)
	}
	return ctx.Err()
}

// look remembers the state that the request decides about.
func (r *request) look() {
	if r.found, r.seen = r.kind.table.records[r.Name], nil; r.found != nil {
		r.seen = r.found.object()
	}
}

// isCurrent reports whether the state that the request has seen is still the stored state.
func (r *request) isCurrent() bool {
	switch found := r.kind.table.records[r.Name]; {
	case r.kinds[r.Request.Kind] != r.kind || found != r.found:
		return false
	case found != nil:
		return found.object() == r.seen
	}
	return r.checkNamespace() == nil
}

// begin returns a request of the store. The caller holds the lock, and gives the request back to
// end.
func (s *store) begin(r request) *request {
	if last := len(s.idle) - 1; last >= 0 {
		next := s.idle[last]
		s.idle = s.idle[:last]
		*next = r
		return next
	}
	next := new(request)
	*next = r
	return next
}

func (s *store) end(r *request) {
	*r = request{}
	s.idle = append(s.idle, r)
}
