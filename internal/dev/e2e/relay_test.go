package e2e_test

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A relay forwards TCP connections between player and server, or stops forwarding without closing
// them.
type relay struct {
	target string
	ended  chan struct{}

	mu   sync.Mutex
	open chan struct{} // closed while the relay forwards
	made int           // connections
	lost int           // the first connections, which never forward anything again
}

// throughRelay returns the configuration of a player that uses the server through a relay.
func throughRelay(t *testing.T, r playerConfig) (playerConfig, *relay) {
	t.Helper()
	target, err := url.Parse(r.Host)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	y := &relay{target: target.Host, ended: make(chan struct{}), open: make(chan struct{})}
	y.resume()
	go y.accept(listener)
	t.Cleanup(func() {
		close(y.ended)
		require.NoError(t, listener.Close())
	})
	target.Host = listener.Addr().String()
	r.Host = target.String()
	return r, y
}

// stop begins a partition: data that is sent arrives after resume.
func (y *relay) stop() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.open = make(chan struct{})
}

// resume ends a partition.
func (y *relay) resume() {
	y.mu.Lock()
	defer y.mu.Unlock()
	close(y.open)
}

// dropConnections makes existing connections lose their data forever, as after the replacement of a
// router.
func (y *relay) dropConnections() {
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

// connect forwards in both directions until one end closes.
func (y *relay) connect(client net.Conn, number int) {
	defer client.Close()
	if !y.waitOpen(number) {
		return
	}
	server, err := net.Dial("tcp", y.target)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { y.copyBytes(client, server, number) })
	both.Go(func() { y.copyBytes(server, client, number) })
	both.Wait()
}

// copyBytes forwards bytes, and the end of the connection.
func (y *relay) copyBytes(to, from net.Conn, number int) {
	defer to.Close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if !y.waitOpen(number) {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// waitOpen waits until a connection may forward. It is false at the end of the test.
func (y *relay) waitOpen(number int) bool {
	y.mu.Lock()
	carries := y.open
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
