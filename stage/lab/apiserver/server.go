package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/addresses"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/apiservices"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/attributes"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/certificates"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/podaccounts"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/policies"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rbac"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/webhooks"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions/validity"
	"github.com/stagecraft-go/stagecraft/stage/lab/validation"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Options of a [Server]. The zero value is the default.
type Options struct {
	// Log is called after each request has been answered, by the goroutine that answered it; a watch
	// is answered when it ends. Default: nothing.
	Log func(Request)
	// Middleware stands before the server: it can delay, refuse and count requests, as a fault between
	// client and server does. Default: nothing.
	Middleware func(http.Handler) http.Handler
	// Bare leaves out what kube-controller-manager does: the ServiceAccount default and the ConfigMap
	// kube-root-ca.crt of each namespace, aggregated ClusterRoles, the status of policies, the
	// certificates that CertificateSigningRequests ask for, and the tokens in Secrets.
	Bare bool

	// ServiceAccounts gives new Pods a ServiceAccount, which has to exist, and the volume with its
	// token, as the admission plugin ServiceAccount of kube-apiserver does. Default: it does not, so
	// that Pods are what was written, and need no ServiceAccount.
	ServiceAccounts bool

	// RBAC allows requests by the roles and bindings of the cluster, which gets those of a new
	// Kubernetes, and keeps users from granting what they do not have. The user of a request is that of
	// its client's certificate, of its token of a ServiceAccount, or the one that it impersonates;
	// without credentials [Start] and [New] take it as the administrator's, who may do everything, and
	// [Listen] as that of system:anonymous. Writes that do not come over HTTP are not checked. Default:
	// everything is allowed.
	RBAC bool

	// Webhooks returns the server of the admission and conversion webhooks on a host: of a URL, "127.0.0.1:9443", or
	// of a Service, "name.namespace.svc"; nil for other hosts. They are called without a connection,
	// also in a testing/synctest bubble. For a manager it is GetWebhookServer().WebhookMux(). It is
	// called for each request, by any goroutine. Default: URLs are called over the network, and
	// Services cannot be reached.
	Webhooks func(host string) http.Handler

	// WebhookHosts reports whether webhooks with a URL on a host, such as "example.com:443", may be
	// called over the network. Default: only 127.0.0.1, ::1 and localhost, and their connections end
	// on loopback, redirected ones too. It is called for each request, by any goroutine.
	WebhookHosts func(host string) bool

	ca          string         // the certificate in that ConfigMap, PEM
	clientCA    string         // the certificates of the authorities of clients, PEM
	endpoint    netip.AddrPort // where the server listens; invalid if it does not
	maxTime     time.Duration  // of a request that is no watch; 0: no limit
	turns       turns
	credentials credentials
}

// A Request describes a request that has been answered.
type Request struct {
	Time        time.Time     // when it came
	Duration    time.Duration // until its answer was written
	User        string        // the user as whom the request acts; "" for the administrator
	UserAgent   string
	Verb        string // as in audit logs: get, list, watch, create, update, patch, delete or deletecollection; "" for paths without objects
	Method, URI string
	Code        int // of the answer
}

// A Server answers HTTP requests from a cluster in memory as kube-apiserver does. It is an
// [http.Handler].
type Server struct {
	cluster  *memory.Cluster
	kinds    kindIndex
	schemas  *definitions.Index
	events   eventCache
	log      func(Request)
	bare     bool
	ca       string
	clientCA string
	endpoint netip.AddrPort
	handler  http.Handler
	large    chan struct{} // requests with large bodies
	maxTime  time.Duration
	turns    turns

	connections connections
	credentials credentials
	meter       *containers.Meter
	signer      *tokens.Signer
	roles       *rbac.Index // nil: everything is allowed
	certifiers  certificates.Controllers
	told        told
	counts      counts
}

// New returns a server for a cluster, which from now on fills in what objects leave open, refuses what is
// not valid, see packages defaults and validation, and gives new objects managedFields; that holds for definitions and the
// objects of their kinds, and for other writers of the cluster, too.
// It creates the namespaces that every cluster has, and what
// kube-controller-manager creates in each, where these are missing.
func New(c *memory.Cluster, o Options) (*Server, error) {
	if c == nil {
		return nil, errors.New("apiserver: no cluster")
	}
	handlers := webhooks.Handlers{On: o.Webhooks, May: o.WebhookHosts, Waits: give}
	converter, err := webhooks.NewConverter(handlers)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	s := &Server{cluster: c, schemas: definitions.New(definitions.Options{Convert: converter.Convert, Metadata: validation.Metadata}), log: o.Log, bare: o.Bare, ca: o.ca, clientCA: o.clientCA, endpoint: o.endpoint, large: make(chan struct{}, o.turns.places()), maxTime: o.maxTime, turns: o.turns, credentials: o.credentials,
		meter: containers.NewMeter(c)}
	c.TrackFields()
	c.Extend(defaults.Hooks())
	if !c.HasHooks(admission.Hooks().Name) { // a lab has its own
		c.Extend(admission.Hooks())
	}
	if o.ServiceAccounts {
		c.Extend(podaccounts.Hooks())
	}
	c.Extend(validity.Hooks())
	c.Extend(s.schemas.Hooks())
	if err := s.authorizeBy(c, o.RBAC); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	c.Extend(certificates.Hooks())
	c.Extend(addresses.Hooks())
	c.Extend(apiservices.Hooks())
	c.Extend(validation.Hooks())
	c.Extend(admission.Plugins())
	c.Extend(sizes())
	compiler, objects := rules.NewCompiler(), attributes.Objects(c, s.fill)
	decide := policies.New(c, compiler, objects, s.typesOf)
	if s.roles != nil {
		decide.Authorizer = authorizer.AuthorizerFunc(s.roles.Authorize) // with the methods of each version of k8s.io/apiserver
	}
	c.Extend(decide.Hooks())
	c.Extend(webhooks.New(webhooks.Options{Compiler: compiler, Objects: objects, Handlers: handlers, Before: decide.Mutate}).Hooks())
	if err := s.kinds.start(c, s.makeSpecV2); err != nil {
		return nil, err
	}
	if err := s.prepareSigners(); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	if err := s.bootstrap(); err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	s.handler = http.HandlerFunc(s.answer)
	if o.Middleware != nil {
		s.handler = o.Middleware(s.handler)
	}
	return s, nil
}

// fill fills in the defaults of an object of a custom kind.
func (s *Server) fill(u *unstructured.Unstructured) {
	s.schemas.Fill(context.Background(), s.cluster.Shared(), u)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = modernWatch(r)
	if s.log == nil {
		s.handler.ServeHTTP(w, r)
		return
	}
	seen, begin := observe(w), time.Now()
	s.handler.ServeHTTP(seen, r)
	s.log(Request{Time: begin, Duration: time.Since(begin), User: s.nameIn(r), UserAgent: r.UserAgent(),
		Verb: verbOf(r), Method: r.Method, URI: r.URL.RequestURI(), Code: seen.code})
	seen.release()
}

// nameIn returns the name of the user in the log.
func (s *Server) nameIn(r *http.Request) string {
	if name := r.Header.Get("Impersonate-User"); name != "" {
		return name
	}
	if sender, err := s.identify(r); err == nil && sender != admin {
		return sender.Name
	}
	return ""
}

// answer answers a request; a panic becomes an error of the server.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			writeError(w, r, apierrors.NewInternalError(fmt.Errorf("panic: %v\n%s", p, debug.Stack())))
		}
	}()
	w.Header().Set("Audit-Id", auditID(r))
	w.Header().Set("Cache-Control", "no-cache, private")
	sender, err := s.identify(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	limited, budget, err := s.begin(r, sender)
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer budget.end()
	r = limited
	if r.ContentLength > largeBody || r.ContentLength < 0 {
		w = &givingWriter{w, budget}
	}
	if err := s.authorize(r); err != nil {
		writeError(w, r, err)
		return
	}
	route(r.URL.Path).serve(s, w, r)
}

// auditID returns the id that the client gave to a request, or a constant one: random ones would
// differ from run to run.
func auditID(r *http.Request) string {
	if id := r.Header.Get("Audit-Id"); id != "" {
		return id
	}
	return "00000000-0000-0000-0000-000000000000"
}

// An observedWriter remembers the code of an answer.
type observedWriter struct {
	http.ResponseWriter
	code int
}

// writers are observedWriters to be used again: each request has one.
var writers = sync.Pool{New: func() any { return &observedWriter{} }}

// observe returns a writer for an answer, which the caller releases when nothing uses it any more.
func observe(w http.ResponseWriter) *observedWriter {
	seen := writers.Get().(*observedWriter) //nolint:forcetypeassert // it has no others
	seen.ResponseWriter, seen.code = w, http.StatusOK
	return seen
}

func (w *observedWriter) release() {
	w.ResponseWriter = nil
	writers.Put(w)
}

func (w *observedWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Hijack takes over the connection, whose answer begins with 101.
func (w *observedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.code = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap lets a watch flush.
func (w *observedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
