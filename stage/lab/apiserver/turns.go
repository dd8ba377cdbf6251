package apiserver

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Turns share the processors between requests and what thousands of clients cause at the same time: the
// events of their watches, and the ends of their connections. Go's scheduler prefers goroutines that have just
// been woken by another one to those that wait for the network, so a wave of the former makes each
// request wait until it is over. As many goroutines have a turn as there are processors; nil gives
// everyone a turn at once.
type turns chan struct{}

func newTurns() turns { return make(turns, runtime.GOMAXPROCS(0)) }

// places is how many requests with large bodies are decoded and stored at once.
func (t turns) places() int {
	if t == nil {
		return mostLarge
	}
	return min(mostLarge, max(1, cap(t)-1))
}

// patienceWithClients is how long a turn lasts at most: a client that does not read keeps nothing from others.
const patienceWithClients = time.Millisecond

// A turn is what one goroutine takes, repeatedly. It begins when all that can run already has run.
type turn struct {
	of   turns
	held atomic.Bool
	late *time.Timer
}

func (t *turn) begin() {
	if t.of == nil {
		return
	}
	t.of <- struct{}{}
	runtime.Gosched() // behind all others
	t.held.Store(true)
	if t.late == nil {
		t.late = time.AfterFunc(patienceWithClients, t.release)
	} else {
		t.late.Reset(patienceWithClients)
	}
}

func (t *turn) end() {
	if t.late != nil {
		t.late.Stop()
	}
	t.release()
}

func (t *turn) release() {
	if t.held.CompareAndSwap(true, false) {
		<-t.of
	}
}

// A fairListener accepts connections that take a turn for their end.
type fairListener struct {
	net.Listener
	turns turns
}

func (l fairListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &fairConnection{Conn: c, last: turn{of: l.turns}}, nil
}

// A fairConnection takes a turn when its client has left, and ends it when the server has closed it too.
type fairConnection struct {
	net.Conn
	left sync.Once
	last turn
}

func (c *fairConnection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
		c.left.Do(c.last.begin)
	}
	return n, err
}

func (c *fairConnection) Close() error {
	defer c.last.release()
	return c.Conn.Close()
}
