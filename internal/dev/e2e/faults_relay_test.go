package e2e_test

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A relay passes bytes on between engine and server, or does not. It never tells either of them.
type relay struct {
	target string
	ended  chan struct{}

	mu      sync.Mutex
	carries chan struct{} // closed while it passes on
	made    int           // connections
	lost    int           // of those, how many never carry anything again
}

// relayed returns the role as played through a relay.
func relayed(t *testing.T, r role) (role, *relay) {
	t.Helper()
	target, err := url.Parse(r.Host)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	y := &relay{target: target.Host, ended: make(chan struct{}), carries: make(chan struct{})}
	y.heal()
	go y.accept(listener)
	t.Cleanup(func() {
		close(y.ended)
		require.NoError(t, listener.Close())
	})
	target.Host = listener.Addr().String()
	r.Host = target.String()
	return r, y
}

// part begins a partition: what is sent arrives when it is healed.
func (y *relay) part() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.carries = make(chan struct{})
}

// heal ends a partition.
func (y *relay) heal() {
	y.mu.Lock()
	defer y.mu.Unlock()
	close(y.carries)
}

// lose forgets the connections there are, as a router does that was replaced: what is sent on them
// never arrives.
func (y *relay) lose() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.lost = y.made
}

func (y *relay) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		y.mu.Lock()
		number := y.made
		y.made++
		y.mu.Unlock()
		go y.connect(client, number)
	}
}

// connect passes on both ways until one end closes.
func (y *relay) connect(client net.Conn, number int) {
	defer client.Close()
	if !y.pass(number) {
		return
	}
	server, err := net.Dial("tcp", y.target)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { y.carry(client, server, number) })
	both.Go(func() { y.carry(server, client, number) })
	both.Wait()
}

// carry passes bytes on, and the end of them.
func (y *relay) carry(to, from net.Conn, number int) {
	defer to.Close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if !y.pass(number) {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pass waits until a connection carries. It is false at the end of the test.
func (y *relay) pass(number int) bool {
	y.mu.Lock()
	carries := y.carries
	if number < y.lost {
		carries = nil
	}
	y.mu.Unlock()
	select {
	case <-carries:
		return true
	case <-y.ended:
		return false
	}
}
