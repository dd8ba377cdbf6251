package kube

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// discoveryTimeout is that of client-go.
const discoveryTimeout = 32 * time.Second

// Options of [Open]. The zero value is the default.
type Options struct {
	// KeepMetadata gives players whole objects. By default players see objects without
	// metadata.managedFields and without the annotation
	// kubectl.kubernetes.io/last-applied-configuration, which are up to two thirds of an object.
	// All other callers always see whole objects.
	KeepMetadata bool
}

// NewForConfig is [Open] with the zero Options.
func NewForConfig(config *rest.Config) (*Cluster, error) { return Open(config, Options{}) }

// Open returns the cluster of a configuration. It finds the resource of a kind by discovery, when
// the kind is first asked for. Client-go sends five requests a second by default: set QPS to a rate
// that the cluster can handle, or to -1 for no limit. One limit applies to all requests of the
// Cluster, for all users. Open does not keep the configuration.
func Open(config *rest.Config, o Options) (*Cluster, error) {
	f, err := newClientFactory(config, o)
	if err != nil {
		return nil, err
	}
	client, err := f.newClient("", codec.Options{})
	if err != nil {
		return nil, err
	}
	kinds := newKinds(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(f.discovery)))
	return &Cluster{client: client, kinds: kinds, events: newRecentEvents(), users: newImpersonators(), factory: f}, nil
}

// A clientFactory makes clients that share httpClient and a limit.
type clientFactory struct {
	config    *rest.Config
	http      *http.Client
	discovery *discovery.DiscoveryClient
	schemas   *codec.Schemas // the schemas of the kinds that are read from protobuf
	player    codec.Options  // how objects are read for players
	shared    client         // for them
}

func newClientFactory(config *rest.Config, o Options) (*clientFactory, error) {
	f := &clientFactory{config: withDefaults(config), schemas: codec.NewSchemas(scheme.Scheme), player: codec.Options{Share: true}}
	if !o.KeepMetadata {
		f.player.Drop = codec.Fields{"metadata": {"managedFields": nil, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": nil}}}
	}
	var err error
	if f.http, err = newHTTPClient(f.config); err != nil {
		return nil, err
	}
	if f.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(f.config, f.forDiscovery()); err != nil {
		return nil, err
	}
	f.shared, err = f.newClient("", f.player)
	return f, err
}

// forDiscovery returns the client of discovery, which has no context that ends a request without an
// answer.
func (f *clientFactory) forDiscovery() *http.Client {
	limited := *f.http
	limited.Timeout = cmp.Or(limited.Timeout, discoveryTimeout)
	return &limited
}

// withDefaults returns a copy with one rate limiter for all clients made of it, and without
// compression if the server is on this machine.
func withDefaults(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	if c.RateLimiter == nil && c.QPS >= 0 {
		qps, burst := c.QPS, c.Burst
		if qps == 0 {
			qps = rest.DefaultQPS
		}
		if burst == 0 {
			burst = rest.DefaultBurst
		}
		c.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst)
	}
	c.DisableCompression = c.DisableCompression || isLocal(c)
	return c
}

// isLocal reports whether the server is reached over loopback, where compressing costs more than it
// saves.
func isLocal(config *rest.Config) bool {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return false
	}
	return url.Hostname() == "localhost" || net.ParseIP(url.Hostname()).IsLoopback()
}

// newClient returns a client that sends requests as a user; "" is the user of the configuration.
func (f *clientFactory) newClient(user string, reading codec.Options) (client, error) {
	config, httpClient := dynamic.ConfigFor(f.config), f.http
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		var err error
		if httpClient, err = newHTTPClient(config); err != nil {
			return client{}, err
		}
	}
	reading.Schemas = f.schemas
	config.NegotiatedSerializer = codec.New(config.NegotiatedSerializer, reading)
	config.APIPath, config.GroupVersion = "/unused", nil // requests say where they go
	asJSON, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return client{}, err
	}
	config.AcceptContentTypes = codec.Accept
	asProtobuf, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	return client{json: dynamic.New(once{asJSON}), protobuf: dynamic.New(once{asProtobuf}), schemas: f.schemas}, err
}
