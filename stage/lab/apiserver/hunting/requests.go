package hunting

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// wrap has the requests of a life meet their fault.
func (l *life) wrap(next http.RoundTripper) http.RoundTripper { return &transport{l, next} }

type transport struct {
	life *life
	next http.RoundTripper
}

// errDead is the answer to a manager that has crashed, errLost that of a connection that broke.
var (
	errDead = errors.New("hunting: the manager has crashed")
	errLost = errors.New("hunting: the answer was lost")
)

// RoundTrip sends a request, unless its fault has it that it is not done.
func (t *transport) RoundTrip(q *http.Request) (*http.Response, error) {
	if t.life.ctx.Err() != nil {
		return nil, errDead
	}
	if q.Method == http.MethodGet || strings.Contains(q.URL.Path, "/leases") || strings.Contains(q.URL.Path, "/events") {
		return t.read(q)
	}
	r := t.life.run
	at, f := r.meet(q)
	if f == nil {
		f = &Fault{}
	}
	switch f.Do {
	case CrashBefore:
		r.crash(t.life)
		return nil, errDead
	case Refuse:
		return refusal(q, f.Code), nil
	case Lag:
		r.lag(cmp.Or(f.For, 30*time.Second), f.Of)
	}
	answer, err := t.next.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	r.tell("%s %d", at, answer.StatusCode)
	r.count(q, answer.StatusCode)
	switch f.Do {
	case CrashAfter:
		r.crash(t.life)
		return lost(answer, errDead)
	case Lose:
		return lost(answer, errLost)
	}
	return answer, nil
}

func lost(answer *http.Response, err error) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return nil, err
}

// meet names a write and returns the fault that strikes it.
func (r *run) meet(q *http.Request) (at Request, f *Fault) {
	r.mu.Lock()
	at = Request{Method: q.Method, Path: q.URL.Path}
	r.counts[at]++
	at.Nth = r.counts[at]
	if r.fault != nil && r.fault.At == at {
		f, r.out.struck = r.fault, true
	}
	if !r.over {
		r.out.writes = append(r.out.writes, at)
	}
	r.mu.Unlock()
	if f != nil {
		r.tell("fault %s", f)
	}
	return at, f
}

// refusal is the answer of an API server that does not do a request.
func refusal(q *http.Request, code int) *http.Response {
	reason := map[int]string{409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 504: "Timeout"}[code]
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused by the hunt","reason":%q,"code":%d}`, reason, code)
	answer := &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
	if code == http.StatusTooManyRequests {
		answer.Header.Set("Retry-After", "1")
	}
	return answer
}

// count counts a write that was done, until the end is judged.
func (r *run) count(q *http.Request, code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if code < 300 && !r.over {
		r.out.done[write{q.Method, resourceOf(q)}]++
	}
}

// resourceOf returns the resource of a request for objects: the last part of the path of a list, the last
// but one of an object.
func resourceOf(q *http.Request) string {
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	if q.Method == http.MethodPost || q.Method == http.MethodGet || len(parts) < 2 {
		return parts[len(parts)-1]
	}
	return parts[len(parts)-2]
}

// lag holds what watches of a resource report for a while.
func (r *run) lag(d time.Duration, of string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lagged, r.of = time.Now().Add(d), of
}

// heldUntil returns until when the watches of a resource are held, or those of any for "".
func (r *run) heldUntil(resource string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if resource != "" && r.of != "" && r.of != resource {
		return time.Time{}
	}
	return r.lagged
}

// watches notes that a resource is watched.
func (r *run) watches(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.out.watched, resource) {
		r.out.watched = append(r.out.watched, resource)
	}
}

// read sends a request that changes nothing, or that is not counted.
func (t *transport) read(q *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(q)
	if watch := q.URL.Query().Get("watch"); err == nil && (watch == "true" || watch == "1") {
		t.life.run.watches(resourceOf(q))
		answer.Body = &frames{answer.Body, t.life, q}
	}
	return answer, err
}

// frames are what a watch reports.
type frames struct {
	io.ReadCloser
	life *life
	q    *http.Request
}

// Read returns what a watch reports, later if watches lag.
func (f *frames) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if wait := time.Until(f.life.run.heldUntil(resourceOf(f.q))); wait > 0 {
		select {
		case <-time.After(wait):
		case <-f.q.Context().Done():
		case <-f.life.ctx.Done():
		}
	}
	return n, err
}
