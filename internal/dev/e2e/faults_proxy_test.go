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

// A trouble does something else than to pass a request on to the server, or passes it on in a bad way. It may draw lots.
type trouble func(w http.ResponseWriter, r *http.Request, next http.Handler, lots *lots)

// lots are random numbers that many may draw.
type lots struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// upTo returns a random duration.
func (l *lots) upTo(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.rand.Int64N(int64(d)))
}

// one is true in so many cases of a hundred.
func (l *lots) one(percent int) bool { return l.upTo(100) < time.Duration(percent) }

// refusals answer a fifth of all requests with 429 or 500, without asking the server.
func refusals(w http.ResponseWriter, r *http.Request, next http.Handler, l *lots) {
	switch {
	case !l.one(20):
		next.ServeHTTP(w, r)
	case l.one(50):
		w.Header().Set("Retry-After", "1")
		refuse(w, apierrors.NewTooManyRequests("slow down", 1))
	default:
		refuse(w, apierrors.NewInternalError(errBroken))
	}
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	s := err.Status()
	s.APIVersion, s.Kind = "v1", "Status"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_ = json.NewEncoder(w).Encode(s)
}

// slowness answers late.
func slowness(w http.ResponseWriter, r *http.Request, next http.Handler, l *lots) {
	select {
	case <-time.After(l.upTo(400 * time.Millisecond)):
		next.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// lostAnswers has the server do its work and tells nobody, in a third of all writes.
func lostAnswers(w http.ResponseWriter, r *http.Request, next http.Handler, l *lots) {
	if r.Method != http.MethodGet && l.one(33) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r)
}

// shortWatches breaks off each watch within a second, in the middle of what it says.
func shortWatches(w http.ResponseWriter, r *http.Request, next http.Handler, l *lots) {
	if r.URL.Query().Get("watch") == "" {
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.upTo(time.Second))
	defer cancel()
	next.ServeHTTP(w, r.WithContext(ctx))
	panic(http.ErrAbortHandler)
}

// together makes one trouble of several.
func together(troubles ...trouble) trouble {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, l *lots) {
		for _, tr := range troubles {
			inner := next
			next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tr(w, r, inner, l) })
		}
		next.ServeHTTP(w, r)
	}
}

// troubled returns the role as played through a proxy that makes trouble.
func troubled(t *testing.T, r role, tr trouble) role {
	t.Helper()
	target, err := url.Parse(r.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(r.config())
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	l := &lots{rand: rand.New(rand.NewPCG(1, 2))}
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
