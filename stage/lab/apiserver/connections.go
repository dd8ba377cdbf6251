package apiserver

import (
	"context"
	"sync"
)

// connections are the requests that net/http does not end: connections with containers. They are
// safe for concurrent use.
type connections struct {
	mu      sync.Mutex
	closed  bool
	cancel  map[int]context.CancelFunc
	next    int
	running sync.WaitGroup
}

// begin returns the context of a connection, and a function for its end.
func (s *connections) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.cancel) >= maxStreams {
		return nil, nil, tooManyStreams()
	}
	if s.cancel == nil {
		s.cancel = map[int]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(ctx)
	id := s.next
	s.next++
	s.cancel[id] = cancel
	s.running.Add(1)
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancel, id)
		s.running.Done()
	}, nil
}

// close ends all connections and returns when their requests have ended.
func (s *connections) close() {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.cancel {
		cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
}
