package streams

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/apimachinery/pkg/util/portforward"
)

// A forward is what the server has of one connection that a client forwards: a stream for errors and
// one for data. The client creates them one after another.
type forward struct {
	port         int
	data, errors httpstream.Stream
	created      time.Time
}

// forwards serve the streams of one client. They are safe for concurrent use.
type forwards struct {
	ctx     context.Context //nolint:containedctx // of the request
	do      func(context.Context, int, io.ReadWriter) error
	mu      sync.Mutex
	waiting map[string]*forward // by the number of the request
	active  int
	running sync.WaitGroup
}

// Ports upgrades a request and forwards connections of its client until the client leaves. The
// function serves one connection to a port, and its context ends with the request. An error of
// Ports is one that must be answered: the request was not upgraded.
func Ports(ctx context.Context, w http.ResponseWriter, r *http.Request, do func(context.Context, int, io.ReadWriter) error) error {
	if err := check(r); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &forwards{ctx: ctx, do: do, waiting: map[string]*forward{}}
	if isWebSocket(r) {
		protocol, err := chosen(r, []string{portforward.WebsocketsSPDYTunnelingPortForwardV1})
		if err != nil {
			return err
		}
		websocketServer(protocol, func(ws *websocket.Conn) {
			conn, err := spdy.NewServerConnection(ws, f.add)
			if err == nil {
				f.serve(conn, cancel)
			}
		}).ServeHTTP(hijackable{w}, r)
		return nil
	}
	if _, err := negotiated(w, r, []string{portforward.PortForwardV1Name}); err != nil {
		return err
	}
	if conn := spdy.NewResponseUpgrader().UpgradeResponse(hijackable{w}, r, f.add); conn != nil {
		f.serve(conn, cancel)
	}
	return nil
}

// serve returns when the client has left, or the context is done, and nothing runs any more.
func (f *forwards) serve(conn httpstream.Connection, cancel func()) {
	conn.SetIdleTimeout(idleTime)
	select {
	case <-conn.CloseChan():
	case <-f.ctx.Done():
	}
	_ = conn.Close()
	<-conn.CloseChan()
	cancel()
	f.running.Wait()
}

// add takes a new stream of the client, and begins to forward when its other stream is there.
func (f *forwards) add(stream httpstream.Stream, replied <-chan struct{}) error {
	port, err := portOf(stream.Headers().Get(corev1.PortHeader))
	if err != nil {
		return err
	}
	id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget()
	p := f.waiting[id]
	if p == nil {
		if f.active+len(f.waiting) >= maxForwards {
			return fmt.Errorf("more than %d connections are forwarded", maxForwards)
		}
		p = &forward{port: port, created: time.Now()}
		f.waiting[id] = p
	}
	if err := p.add(stream); err != nil {
		return err
	}
	if p.data == nil || p.errors == nil {
		return nil
	}
	delete(f.waiting, id)
	f.active++
	f.running.Go(func() {
		<-replied
		f.forward(p)
	})
	return nil
}

// forget resets streams whose other stream has not come.
func (f *forwards) forget() {
	for id, p := range f.waiting {
		if time.Since(p.created) < creationTime {
			continue
		}
		for _, stream := range []httpstream.Stream{p.data, p.errors} {
			if stream != nil {
				_ = stream.Reset()
			}
		}
		delete(f.waiting, id)
	}
}

func portOf(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%q is no port: want a number from 1 to 65535", text)
	}
	return int(port), nil
}

func (p *forward) add(stream httpstream.Stream) error {
	into := &p.data
	switch kind := stream.Headers().Get(corev1.StreamType); kind {
	case corev1.StreamTypeData:
	case corev1.StreamTypeError:
		into = &p.errors
	default:
		return fmt.Errorf("invalid stream type %q", kind)
	}
	if *into != nil {
		return fmt.Errorf("the stream exists already")
	}
	*into = stream
	return nil
}

// forward serves one connection.
func (f *forwards) forward(p *forward) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.active--
	}()
	defer func() { _ = p.errors.Close() }()
	defer func() { _ = p.data.Close() }()
	if err := f.protected(p); err != nil && f.ctx.Err() == nil {
		_, _ = fmt.Fprintf(p.errors, "error forwarding port %d to pod: %v", p.port, err)
	}
}

func (f *forwards) protected(p *forward) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return f.do(f.ctx, p.port, p.data)
}
