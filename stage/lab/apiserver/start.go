package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// T is what [Start] needs of a *testing.T. Ginkgo's GinkgoT() implements it too.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Start serves a cluster until the test ends, over connections in memory: nothing listens, and in a
// testing/synctest bubble all waiting is virtual. The configuration has all permissions and no rate
// limit. What uses it has to be stopped by functions that are given to t.Cleanup after this call.
// Clients that dial by themselves, such as client-go's exec, attach and port-forward, need [Listen].
func Start(t T, c *memory.Cluster, o Options) *rest.Config {
	t.Helper()
	handler, err := New(c, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p := newPipe()
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(p) // it ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		if err := handler.connections.close(); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return &rest.Config{
		Host: "http://exec-and-port-forward-need-apiserver-listen.invalid", // dialers of their own show it in an error
		Dial: p.dial,
		QPS:  -1,
		Proxy: func(*http.Request) (*url.URL, error) {
			return nil, nil // the proxy of the environment knows no connections in memory
		},
	}
}

// A pipe is a listener for connections in memory. It is safe for concurrent use.
type pipe struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func newPipe() *pipe { return &pipe{connections: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) Addr() net.Addr { return pipeAddress{} }

type pipeAddress struct{}

func (pipeAddress) Network() string { return "pipe" }
func (pipeAddress) String() string  { return "pipe" }

// dial connects to the listener.
func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.connections <- server:
		return client, nil
	case <-p.closed:
		return nil, fmt.Errorf("apiserver: the test has ended: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
