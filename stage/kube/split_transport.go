package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// splitTransport sends writes over HTTP/1.1, each over a connection of its own until it is
// answered, and everything else as the configuration says. That is mostly HTTP/2, whose pings find
// out that the connection of a watch is dead. A player writes little and often: on one connection
// of HTTP/2 all writes and watch events wait for each other, and the frames take a tenth of the
// server's rate. See internal/dev/e2e/cluster.
type splitTransport struct{ reads, writes http.RoundTripper }

// RoundTrip sends a request.
func (s splitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return s.reads.RoundTrip(r)
	}
	return s.writes.RoundTrip(r)
}

// newHTTPClient returns what sends the requests of a configuration. A configuration that names
// protocols is taken as it is.
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

// connectionConfig is the part of a configuration that says how to connect: without the
// credentials, and without what the owner of the configuration wraps around requests.
func connectionConfig(c transport.Config, protocols ...string) *transport.Config {
	c.TLS.NextProtos = protocols
	return &transport.Config{
		TLS: c.TLS, Transport: c.Transport, DialHolder: c.DialHolder, Proxy: c.Proxy, DisableCompression: c.DisableCompression,
	}
}
