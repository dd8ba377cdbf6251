package apiserver

import (
	"context"
	"net/http"
	"strings"
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
	// mostLarge is how many requests with large bodies are answered at once.
	mostLarge = 4

	// maxStored is how large an object may be as JSON, as etcd has it by default.
	maxStored = 3 << 19
)

// A budget is what a request may use. It is the context of the request, and ends with it.
type budget struct {
	context.Context
	cancel func()            // nil without a limit of time
	large  chan struct{}     // of the server
	holds  bool              // a place among the requests with large bodies
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
	if b.holds {
		<-b.large
	}
}

// take waits until a body of a size may be decoded.
func take(ctx context.Context, size int) error {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if size <= largeBody || b == nil || b.holds {
		return nil
	}
	select {
	case b.large <- struct{}{}:
		b.holds = true
		return nil
	case <-ctx.Done():
		return apierrors.NewTooManyRequests("too many requests with large bodies, please try again later", 1)
	}
}

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
