package streams

import (
	"io"
	"sync"
)

// A buffer has the bytes between a client that sends and a command that reads. The client waits
// while maxUnread bytes are in it. It is safe for concurrent use.
type buffer struct {
	mu     sync.Mutex
	change *sync.Cond
	data   []byte
	err    error // what the reader gets after the data
	closed bool  // by the reader: it takes everything, and keeps nothing
}

func newBuffer() *buffer {
	b := &buffer{}
	b.change = sync.NewCond(&b.mu)
	return b
}

// Read waits for data.
func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && b.err == nil && !b.closed {
		b.change.Wait()
	}
	if len(b.data) == 0 {
		if b.err == nil {
			return 0, io.ErrClosedPipe
		}
		return 0, b.err
	}
	n := copy(p, b.data)
	if b.data = b.data[n:]; len(b.data) == 0 {
		b.data = nil
	}
	b.change.Broadcast()
	return n, nil
}

// Write waits until there is room.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) >= maxUnread && b.err == nil && !b.closed {
		b.change.Wait()
	}
	if b.err == nil && !b.closed {
		b.data = append(b.data, p...)
		b.change.Broadcast()
	}
	return len(p), nil
}

// end has the reader get an error after the data, unless there is one.
func (b *buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.change.Broadcast()
}

// Close is the end of the reader.
func (b *buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.data = true, nil
	b.change.Broadcast()
	return nil
}
