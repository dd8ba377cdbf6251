package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// A proxyFault handles a request in a way that a broken network or server would. It may use random
// numbers.
type proxyFault func(w http.ResponseWriter, r *http.Request, next http.Handler, lots *randomSource)

// A randomSource makes random numbers. It is safe for concurrent use.
type randomSource struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// duration returns a random duration less than d.
func (l *randomSource) duration(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.rand.Int64N(int64(d)))
}

// chance is true with a probability of percent.
func (l *randomSource) chance(percent int) bool { return l.duration(100) < time.Duration(percent) }

// refuseRequests answers a fifth of all requests with 429 or 500, without asking the server.
func refuseRequests(w http.ResponseWriter, r *http.Request, next http.Handler, l *randomSource) {
	switch {
	case !l.chance(20):
		next.ServeHTTP(w, r)
	case l.chance(50):
		w.Header().Set("Retry-After", "1")
		writeStatusError(w, apierrors.NewTooManyRequests("slow down", 1))
	default:
		writeStatusError(w, apierrors.NewInternalError(errBroken))
	}
}

// writeStatusError writes an error as an API server does.
func writeStatusError(w http.ResponseWriter, err *apierrors.StatusError) {
	s := err.Status()
	s.APIVersion, s.Kind = "v1", "Status"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_ = json.NewEncoder(w).Encode(s)
}

// delayRequests delays requests.
func delayRequests(w http.ResponseWriter, r *http.Request, next http.Handler, l *randomSource) {
	select {
	case <-time.After(l.duration(400 * time.Millisecond)):
		next.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// loseAnswers closes the connection instead of passing on the server's answer, for a third of all
// writes.
func loseAnswers(w http.ResponseWriter, r *http.Request, next http.Handler, l *randomSource) {
	if r.Method != http.MethodGet && l.chance(33) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r)
}

// cutWatches ends each watch within a second, in the middle of its data.
func cutWatches(w http.ResponseWriter, r *http.Request, next http.Handler, l *randomSource) {
	if r.URL.Query().Get("watch") == "" {
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.duration(time.Second))
	defer cancel()
	next.ServeHTTP(w, r.WithContext(ctx))
	panic(http.ErrAbortHandler)
}

// allFaults combines several faults.
func allFaults(troubles ...proxyFault) proxyFault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, l *randomSource) {
		for _, tr := range troubles {
			inner := next
			next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tr(w, r, inner, l) })
		}
		next.ServeHTTP(w, r)
	}
}

// throughProxy returns the configuration of a player that uses the server through a proxy with a
// fault.
func throughProxy(t *testing.T, r playerConfig, tr proxyFault) playerConfig {
	t.Helper()
	target, err := url.Parse(r.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(r.restConfig())
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	l := &randomSource{rand: rand.New(rand.NewPCG(1, 2))}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tr(w, r, proxy, l) }))
	server.EnableHTTP2, server.Config.ErrorLog = true, proxy.ErrorLog
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	var ca bytes.Buffer
	require.NoError(t, pem.Encode(&ca, &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	r.Host, r.TLS = server.URL, rest.TLSClientConfig{CAData: ca.Bytes()}
	return r
}
