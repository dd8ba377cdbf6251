package apiserver

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
)

// These limits are what one request may use. Those of the listener are for connections.
const (
	// maxTime is how long a request of a listener that is no watch may take, as in kube-apiserver.
	// Start has no such limit: virtual time can jump.
	maxTime = 60 * time.Second

	// largeBody is the size of a body above which requests wait for each other: reading a body takes
	// several times its size. Requests with small bodies never wait.
	largeBody = 64 << 10
	// mostLarge is how many requests with large bodies are decoded and stored at once. A listener leaves a
	// processor for other requests, if there are two.
	mostLarge = 4

	// maxStored is how large an object may be as JSON, as etcd has it by default.
	maxStored = 3 << 19
)

// A budget is what a request may use. It is the context of the request, and ends with it.
type budget struct {
	context.Context
	cancel func()            // nil without a limit of time
	large  chan struct{}     // of the server
	holds  atomic.Bool       // a place among the requests with large bodies
	user   *user.DefaultInfo // who sends the request, before impersonation

	oldMode bool // only the verb impersonate allows the request to act as another user
}

type budgetKey struct{}

// Value returns the budget for its key.
func (b *budget) Value(key any) any {
	if key == (budgetKey{}) {
		return b
	}
	return b.Context.Value(key)
}

// begin gives a request its budget, which the caller ends.
func (s *Server) begin(r *http.Request, as *user.DefaultInfo) (*http.Request, *budget, error) {
	b := &budget{Context: r.Context(), large: s.large, user: as}
	if !isWatch(r) && !isStream(r) {
		limit, err := s.timeOf(r)
		if err != nil {
			return nil, nil, err
		}
		if limit > 0 {
			b.Context, b.cancel = context.WithTimeout(b.Context, limit)
		}
	}
	return r.WithContext(b), b, nil
}

// timeOf returns how long a request may take, which its parameter timeout can make shorter; 0 without
// a limit.
func (s *Server) timeOf(r *http.Request) (time.Duration, error) {
	if !strings.Contains(r.URL.RawQuery, "timeout=") {
		return s.maxTime, nil
	}
	given := r.URL.Query().Get("timeout")
	if given == "" {
		return s.maxTime, nil
	}
	limit, err := time.ParseDuration(given)
	switch {
	case err != nil:
		return 0, badRequest("invalid timeout specified in the request URL - %v", err)
	case limit <= 0 || s.maxTime > 0 && limit > s.maxTime:
		return s.maxTime, nil
	}
	return limit, nil
}

func (b *budget) end() {
	if b.cancel != nil {
		b.cancel()
	}
	b.give()
}

// take waits until a body of a size may be decoded.
func take(ctx context.Context, size int) error {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if size <= largeBody || b == nil || b.holds.Load() {
		return nil
	}
	select {
	case b.large <- struct{}{}:
		b.holds.Store(true)
		return nil
	case <-ctx.Done():
		return apierrors.NewTooManyRequests("too many requests with large bodies, please try again later", 1)
	}
}

// give lets another request have the place, if this one has one.
func (b *budget) give() {
	if b.holds.CompareAndSwap(true, false) {
		<-b.large
	}
}

// give lets another request have the place of this one, which from now on waits for somebody. It is safe for
// concurrent use.
func give(ctx context.Context) {
	if b, _ := ctx.Value(budgetKey{}).(*budget); b != nil {
		b.give()
	}
}

// A givingWriter gives the place to others before the answer: how long it takes is for the client to say.
type givingWriter struct {
	http.ResponseWriter
	budget *budget
}

func (w *givingWriter) WriteHeader(code int) {
	w.budget.give()
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *givingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// isWatch reports whether a request is answered with events until one side ends it.
func isWatch(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery != "" && verbOf(r) == "watch"
}

// isStream reports whether a request is one that lasts as long as its client wants: a log that is
// followed, or a connection with a container.
func isStream(r *http.Request) bool {
	t, is := route(r.URL.Path).(target)
	switch {
	case !is || t.resource.Resource != "pods":
		return false
	case t.subresource == "log":
		return isTrue(r.URL.Query(), "follow")
	}
	return t.subresource == "exec" || t.subresource == "attach" || t.subresource == "portforward"
}
