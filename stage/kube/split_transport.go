package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// splitTransport sends writes over HTTP/1.1, with one connection for each write under way, and
// everything else as the configuration says. That is usually HTTP/2, whose pings detect a dead
// connection of a watch. A player sends many small writes. On one HTTP/2 connection, writes and
// watch events would wait for each other, and the frames would cost a tenth of the server's rate.
// See internal/dev/e2e/cluster.
type splitTransport struct{ reads, writes http.RoundTripper }

// RoundTrip sends a request.
func (s splitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return s.reads.RoundTrip(r)
	}
	return s.writes.RoundTrip(r)
}

// newHTTPClient returns the HTTP client for a configuration. If the configuration names protocols,
// they are used for all requests.
func newHTTPClient(config *rest.Config) (*http.Client, error) {
	if len(config.NextProtos) > 0 {
		return rest.HTTPClientFor(config)
	}
	whole, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	var s splitTransport
	if s.reads, err = transport.New(connectionConfig(*whole)); err != nil {
		return nil, err
	}
	if s.writes, err = transport.New(connectionConfig(*whole, "http/1.1")); err != nil {
		return nil, err
	}
	wrapped, err := transport.HTTPWrappersForConfig(whole, s)
	return &http.Client{Transport: wrapped, Timeout: config.Timeout}, err
}

// connectionConfig returns the part of a configuration that says how to connect, without the
// credentials and without WrapTransport.
func connectionConfig(c transport.Config, protocols ...string) *transport.Config {
	c.TLS.NextProtos = protocols
	return &transport.Config{
		TLS: c.TLS, Transport: c.Transport, DialHolder: c.DialHolder, Proxy: c.Proxy, DisableCompression: c.DisableCompression,
	}
}
