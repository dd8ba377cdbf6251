package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// lanes sends writes over HTTP/1.1, each over a connection that it has to itself until it is answered, and all else as the configuration says: mostly
// over HTTP/2, whose pings find out that the connection of a watch is dead. Who plays writes little and often: on one connection of HTTP/2 all writes
// and watch events wait for each other, and what the frames cost is a tenth of the server's rate. See internal/dev/e2e/cluster.
type lanes struct{ reading, writing http.RoundTripper }

// RoundTrip sends a request.
func (l lanes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return l.reading.RoundTrip(r)
	}
	return l.writing.RoundTrip(r)
}

// connect returns what sends the requests of a configuration. One that says which protocols it wants has its way.
func connect(config *rest.Config) (*http.Client, error) {
	if len(config.NextProtos) > 0 {
		return rest.HTTPClientFor(config)
	}
	whole, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	var l lanes
	if l.reading, err = transport.New(connection(*whole)); err != nil {
		return nil, err
	}
	if l.writing, err = transport.New(connection(*whole, "http/1.1")); err != nil {
		return nil, err
	}
	all, err := transport.HTTPWrappersForConfig(whole, l)
	return &http.Client{Transport: all, Timeout: config.Timeout}, err
}

// connection is the part of a configuration that says how to connect, without who sends requests and what its owner wraps around them.
func connection(c transport.Config, protocols ...string) *transport.Config {
	c.TLS.NextProtos = protocols
	return &transport.Config{TLS: c.TLS, Transport: c.Transport, DialHolder: c.DialHolder, Proxy: c.Proxy, DisableCompression: c.DisableCompression}
}
