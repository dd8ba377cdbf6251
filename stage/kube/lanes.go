package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// lanes sends writes over HTTP/1.1, each over a connection that it has to itself until it is answered, and all else as the configuration says: mostly
// over HTTP/2, whose pings find out that the connection of a watch is dead. Who plays writes little and often: on one connection of HTTP/2 all writes
// and watch events wait for each other, and what the frames cost is a tenth of the server's rate. See internal/bench/cluster.
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
	reading, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: reading, Timeout: config.Timeout}
	if len(config.NextProtos) > 0 {
		return client, nil
	}
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	writing, err := rest.TransportFor(config)
	client.Transport = lanes{reading, writing}
	return client, err
}
