package kube

import (
	"net"
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// Options of [Open]. The zero value is the default.
type Options struct {
	// KeepMetadata gives players whole objects. By default they see them without metadata.managedFields and without the annotation
	// kubectl.kubernetes.io/last-applied-configuration, which are up to two thirds of an object. Others see whole objects always.
	KeepMetadata bool
}

// NewForConfig is [Open] with the zero Options.
func NewForConfig(config *rest.Config) (*Cluster, error) { return Open(config, Options{}) }

// Open returns the cluster of a configuration, and finds its kinds by discovery as they are asked for. Client-go sends five requests a
// second by default: set QPS to what the cluster stands, or to -1 for no limit. The limit is one for all that the cluster sends, as
// whatever user. The configuration is not kept.
func Open(config *rest.Config, o Options) (*Cluster, error) {
	d, err := newDialer(config, o)
	if err != nil {
		return nil, err
	}
	client, err := d.dial("", codec.Options{})
	if err != nil {
		return nil, err
	}
	kinds := newKinds(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d.found)))
	return &Cluster{client: client, kinds: kinds, events: newSeries(), users: newUsers(), dialer: d}, nil
}

// A dialer makes clients that share connections and a limit.
type dialer struct {
	config  *rest.Config
	http    *http.Client
	found   *discovery.DiscoveryClient
	schemas *codec.Schemas // of the kinds that are read from protobuf
	player  codec.Options  // how objects are read for players
	shared  client         // for them
}

func newDialer(config *rest.Config, o Options) (*dialer, error) {
	d := &dialer{config: withDefaults(config), schemas: codec.NewSchemas(scheme.Scheme), player: codec.Options{Share: true}}
	if !o.KeepMetadata {
		d.player.Drop = codec.Fields{"metadata": {"managedFields": nil, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": nil}}}
	}
	var err error
	if d.http, err = connect(d.config); err != nil {
		return nil, err
	}
	if d.found, err = discovery.NewDiscoveryClientForConfigAndClient(d.config, d.http); err != nil {
		return nil, err
	}
	d.shared, err = d.dial("", d.player)
	return d, err
}

// withDefaults returns a copy that has one limiter for all clients made of it, and does not compress what stays on this machine.
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

// isLocal reports whether the server is reached over loopback, where compressing costs more than it saves.
func isLocal(config *rest.Config) bool {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return false
	}
	return url.Hostname() == "localhost" || net.ParseIP(url.Hostname()).IsLoopback()
}

// dial returns a client that sends as a user, "" being the one of the configuration.
func (d *dialer) dial(user string, reading codec.Options) (client, error) {
	config, connections := dynamic.ConfigFor(d.config), d.http
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		var err error
		if connections, err = connect(config); err != nil {
			return client{}, err
		}
	}
	reading.Schemas = d.schemas
	config.NegotiatedSerializer = codec.New(config.NegotiatedSerializer, reading)
	config.APIPath, config.GroupVersion = "/unused", nil // requests say where they go
	asJSON, err := rest.UnversionedRESTClientForConfigAndClient(config, connections)
	if err != nil {
		return client{}, err
	}
	config.AcceptContentTypes = codec.Accept
	asProtobuf, err := rest.UnversionedRESTClientForConfigAndClient(config, connections)
	return client{json: dynamic.New(asJSON), protobuf: dynamic.New(asProtobuf), schemas: d.schemas}, err
}
