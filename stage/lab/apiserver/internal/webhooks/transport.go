package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// Handlers say how webhooks are called.
type Handlers struct {
	// On returns the server of the webhooks on a host, such as "127.0.0.1:9443" in a URL, or
	// "name.namespace.svc" for a Service; nil for other hosts. URLs on other hosts are called over the
	// network; Services without a handler cannot be reached. A nil On knows no host.
	On func(host string) http.Handler
	// May reports whether a host may be called over the network. Nil: hosts of loopback.
	May func(host string) bool
	// Waits is called before a request waits for a webhook, by any goroutine. Nil: nothing is called.
	Waits func(ctx context.Context)
}

func (h Handlers) on(host string) http.Handler {
	if h.On == nil {
		return nil
	}
	return h.On(host)
}

// longest is how long a call takes at most, as in kube-apiserver. Admission webhooks can have less.
const longest = 30 * time.Second

// ClientConfigFor returns how to call webhooks with a URL.
func (h Handlers) ClientConfigFor(hostPort string) (*rest.Config, error) {
	switch {
	case h.on(hostPort) != nil:
		return h.config(hostPort), nil
	case h.May != nil && h.May(hostPort):
		return &rest.Config{Timeout: longest, WrapTransport: h.bounded}, nil
	}
	return &rest.Config{Timeout: longest, WrapTransport: h.bounded, Dial: dialLoopback, Proxy: noProxy}, nil
}

// dialLoopback connects to loopback only, also for a redirected request.
func dialLoopback(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("webhooks on %s are forbidden: only loopback is called; allow the host by Options.WebhookHosts of package apiserver", address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(host, port))
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// ClientConfigForService returns how to call webhooks of a Service.
func (h Handlers) ClientConfigForService(name, namespace string, _ int) (*rest.Config, error) {
	return h.config(name + "." + namespace + ".svc"), nil
}

func (h Handlers) config(host string) *rest.Config {
	return &rest.Config{Timeout: longest, WrapTransport: func(http.RoundTripper) http.RoundTripper { return h.bounded(transport{host, h}) }}
}

// A transport hands requests to the handler of a host.
type transport struct {
	host     string
	handlers Handlers
}

// RoundTrip waits for the handler, or until the time of the request is up.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	handler := t.handlers.on(t.host)
	if handler == nil {
		return nil, fmt.Errorf("no handler for %s: see Options.Webhooks of package apiserver", t.host)
	}
	answered := make(chan *http.Response, 1)
	go func() {
		w := &writer{code: http.StatusOK, header: http.Header{}}
		defer func() {
			if p := recover(); p != nil {
				w = &writer{code: http.StatusInternalServerError, header: http.Header{}}
				fmt.Fprintf(&w.body, "the handler panics: %v", p)
			}
			answered <- w.response(r)
		}()
		handler.ServeHTTP(w, r)
	}()
	select {
	case response := <-answered:
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// A writer keeps an answer.
type writer struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (w *writer) Header() http.Header            { return w.header }
func (w *writer) Write(data []byte) (int, error) { return w.body.Write(data) }
func (w *writer) WriteHeader(code int)           { w.code = code }
func (w *writer) response(r *http.Request) *http.Response {
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}
}
