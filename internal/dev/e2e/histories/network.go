package histories

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/faults"
)

// A network lies between client-go and the server.
type network struct {
	next http.RoundTripper
	dice *faults.Dice
	pods faults.Former[*stored]
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return n.watch(r)
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	s, err := n.answer(r, body)
	if err != nil {
		return nil, err
	}
	return s.response(r), nil
}

func (n *network) answer(r *http.Request, body []byte) (*stored, error) {
	a := faults.Answers[*stored]{
		Do:       func() (*stored, error) { return n.do(r, body) },
		Refused:  n.refusal,
		Failed:   n.failure,
		Cut:      func() (*stored, error) { return nil, io.ErrUnexpectedEOF },
		Conflict: func() (*stored, error) { return status(409, "Conflict", 0), nil },
		Expired:  func() (*stored, error) { return expired, nil },
	}
	switch {
	case r.Method != http.MethodGet:
		return faults.Write(r.Context(), n.dice, a)
	case isList(r):
		return faults.List(r.Context(), n.dice, &n.pods, a)
	}
	return faults.Read(r.Context(), n.dice, a)
}

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods")
}

// A stored answer can be given again.
type stored struct {
	code   int
	header http.Header
	body   []byte
}

func (s *stored) response(r *http.Request) *http.Response {
	return &http.Response{
		Status: http.StatusText(s.code), StatusCode: s.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: s.header.Clone(), Body: io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)),
	}
}

// do sends a request and reads its whole answer, whatever becomes of the client.
func (n *network) do(r *http.Request, body []byte) (*stored, error) {
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := n.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s := &stored{answer.StatusCode, answer.Header, text}
	if err == nil && isList(r) && s.code == http.StatusOK {
		n.pods.Note(n.dice, s)
	}
	return s, err
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// status is the answer of an API server, or of something before it, that fails.
func status(code int, reason string, retryAfter int) *stored {
	s := &stored{code: code, header: http.Header{"Content-Type": {"application/json"}}}
	if retryAfter > 0 {
		s.header.Set("Retry-After", fmt.Sprint(retryAfter))
	}
	s.body = fmt.Appendf(nil, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": %q, "message": "by the network", "details": {"retryAfterSeconds": %d}}`, code, reason, retryAfter)
	return s
}

var expired = status(410, "Expired", 0)

// failure is an answer, or none, that does not tell whether the request was done.
func (n *network) failure() (*stored, error) {
	answers := []*stored{
		nil, status(500, "InternalError", 0), status(500, "ServerTimeout", 1), status(503, "ServiceUnavailable", 1), status(504, "Timeout", 2),
		{code: 502, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<html>bad gateway</html>")},
	}
	if s := answers[n.dice.N(len(answers))]; s != nil {
		return s, nil
	}
	return nil, io.ErrUnexpectedEOF
}

func (n *network) refusal() (*stored, error) {
	if n.dice.N(4) == 0 {
		return status(429, "TooManyRequests", n.dice.N(4)), nil
	}
	return n.failure()
}

func (n *network) watch(r *http.Request) (*http.Response, error) {
	switch n.dice.Strike(faults.Refused, faults.Expired) {
	case faults.Refused:
		s, err := n.refusal()
		if err != nil {
			return nil, err
		}
		return s.response(r), nil
	case faults.Expired:
		return expired.response(r), nil
	}
	answer, err := n.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = newCutBody(answer.Body, n.dice)
	return answer, nil
}

// A cutBody is the body of a watch that ends some time, perhaps in the middle of an event.
type cutBody struct {
	io.ReadCloser
	dice    *faults.Dice
	timer   *time.Timer
	stalled bool
	ended   chan struct{}
	once    sync.Once
}

func newCutBody(body io.ReadCloser, dice *faults.Dice) *cutBody {
	c := &cutBody{ReadCloser: body, dice: dice, stalled: dice.Strike(faults.Stalled) != "", ended: make(chan struct{})}
	c.timer = time.AfterFunc(dice.Life(), func() { _ = c.Close() })
	return c
}

func (c *cutBody) Close() error {
	c.once.Do(func() { close(c.ended) })
	c.timer.Stop()
	return c.ReadCloser.Close()
}

func (c *cutBody) isEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.stalled {
		<-c.ended
		return 0, io.EOF
	}
	n, err := c.ReadCloser.Read(p)
	if c.isEnded() {
		return n, io.EOF
	}
	switch c.dice.Strike(faults.Closed, faults.Broken, faults.Delayed) {
	case faults.Closed:
		_ = c.Close()
		return n, io.EOF
	case faults.Broken:
		_ = c.Close()
		return n / 2, io.ErrUnexpectedEOF
	case faults.Delayed:
		time.Sleep(time.Duration(c.dice.N(2000)) * time.Millisecond)
	}
	return n, err
}
