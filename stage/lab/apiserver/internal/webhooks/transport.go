package webhooks

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Handlers return the server of the webhooks on a host, such as "127.0.0.1:9443" in a URL, or
// "name.namespace.svc" for a Service; nil if there is none. Hosts of URLs without one are called over
// the network; Services without one cannot be reached. A nil Handlers knows no host.
type Handlers func(host string) http.Handler

func (h Handlers) on(host string) http.Handler {
	if h == nil {
		return nil
	}
	return h(host)
}

// ClientConfigFor returns how to call webhooks with a URL.
func (h Handlers) ClientConfigFor(hostPort string) (*rest.Config, error) {
	if h.on(hostPort) == nil {
		return &rest.Config{}, nil
	}
	return h.config(hostPort), nil
}

// ClientConfigForService returns how to call webhooks of a Service.
func (h Handlers) ClientConfigForService(name, namespace string, _ int) (*rest.Config, error) {
	return h.config(name + "." + namespace + ".svc"), nil
}

func (h Handlers) config(host string) *rest.Config {
	return &rest.Config{WrapTransport: func(http.RoundTripper) http.RoundTripper { return transport{host, h} }}
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
