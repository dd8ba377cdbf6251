package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// connections are the requests that net/http does not end: connections with containers. They are
// safe for concurrent use.
type connections struct {
	mu     sync.Mutex
	closed bool
	open   map[*endless]bool
}

// An endless request goes on until its function ends.
type endless struct {
	path   string
	cancel context.CancelFunc
	ended  chan struct{}
}

// begin returns the context of a connection, and a function for its end.
func (s *connections) begin(ctx context.Context, path string) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.open) >= maxStreams {
		return nil, nil, tooManyStreams()
	}
	if s.open == nil {
		s.open = map[*endless]bool{}
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &endless{path, cancel, make(chan struct{})}
	s.open[c] = true
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
		close(c.ended)
	}, nil
}

// patience is how long close waits for the functions of connections.
const patience = 10 * time.Second

// close ends all connections and returns when their requests have ended. The error names a request
// whose function goes on although its context has ended.
func (s *connections) close() error {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, c := range open {
		c.cancel()
	}
	end := time.After(patience)
	for _, c := range open {
		select {
		case <-c.ended:
		case <-end:
			return fmt.Errorf("apiserver: %s goes on %v after its context has ended; its function in containers.Options must heed the context", c.path, patience)
		}
	}
	return nil
}
