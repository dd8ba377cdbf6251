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

	"github.com/stagecraft-go/stagecraft/internal/dev/histories"
)

// A network lies between client-go and the server.
type network struct {
	next http.RoundTripper
	dice *histories.Dice
	mu   sync.Mutex
	old  *stored // a list of Pods of some time ago
	olds int     // in a row
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.URL.Query().Get("watch") != "":
		return n.watch(r)
	case r.Method == http.MethodGet:
		return n.read(r)
	}
	return n.write(r)
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
	return &stored{answer.StatusCode, answer.Header, text}, err
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

// failure is an answer, or none, that does not tell whether the request was done.
func (n *network) failure(r *http.Request) (*http.Response, error) {
	answers := []*stored{
		nil, status(500, "InternalError", 0), status(500, "ServerTimeout", 1), status(503, "ServiceUnavailable", 1), status(504, "Timeout", 2),
		{code: 502, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<html>bad gateway</html>")},
	}
	if s := answers[n.dice.N(len(answers))]; s != nil {
		return s.response(r), nil
	}
	return nil, io.ErrUnexpectedEOF
}

func (n *network) refusal(r *http.Request) (*http.Response, error) {
	if n.dice.N(4) == 0 {
		return status(429, "TooManyRequests", n.dice.N(4)).response(r), nil
	}
	return n.failure(r)
}

func (n *network) hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func (n *network) write(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	switch n.dice.Strike(histories.Refused, histories.Lost, histories.Hanging, histories.Conflict, histories.Twice, histories.Late) {
	case histories.Refused:
		return n.refusal(r)
	case histories.Lost:
		_, _ = n.do(r, body)
		return n.failure(r)
	case histories.Hanging:
		if n.dice.N(2) == 0 {
			_, _ = n.do(r, body)
		}
		return n.hang(r)
	case histories.Conflict:
		return status(409, "Conflict", 0).response(r), nil
	case histories.Twice:
		_, _ = n.do(r, body)
	case histories.Late:
		after := time.Duration(n.dice.N(3000)) * time.Millisecond
		go func() {
			time.Sleep(after)
			_, _ = n.do(r, body)
		}()
		return nil, io.ErrUnexpectedEOF
	}
	s, err := n.do(r, body)
	if err != nil {
		return nil, err
	}
	return s.response(r), nil
}

func (n *network) read(r *http.Request) (*http.Response, error) {
	list := strings.HasSuffix(r.URL.Path, "/pods")
	switch n.dice.Strike(histories.Refused, histories.Expired, histories.Stale, histories.Hanging) {
	case histories.Refused:
		return n.refusal(r)
	case histories.Expired:
		if list {
			return status(410, "Expired", 0).response(r), nil
		}
	case histories.Stale:
		if old := n.remembered(); old != nil && list {
			return old.response(r), nil
		}
	case histories.Hanging:
		return n.hang(r)
	}
	s, err := n.do(r, nil)
	if err != nil {
		return nil, err
	}
	if list && s.code == http.StatusOK {
		n.remember(s)
	}
	return s.response(r), nil
}

func (n *network) remembered() *stored {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.old == nil || n.olds == 3 {
		return nil
	}
	n.olds++
	return n.old
}

func (n *network) remember(s *stored) {
	sometimes := n.dice.N(3) == 0
	n.mu.Lock()
	defer n.mu.Unlock()
	n.olds = 0
	if sometimes {
		n.old = s
	}
}

func (n *network) watch(r *http.Request) (*http.Response, error) {
	switch n.dice.Strike(histories.Refused, histories.Expired) {
	case histories.Refused:
		return n.refusal(r)
	case histories.Expired:
		return status(410, "Expired", 0).response(r), nil
	}
	answer, err := n.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	life := time.Duration(n.dice.N(20_000)+50) * time.Millisecond
	answer.Body = newCutBody(answer.Body, n.dice, life)
	return answer, nil
}

// A cutBody is the body of a watch that ends some time, perhaps in the middle of an event.
type cutBody struct {
	io.ReadCloser
	dice    *histories.Dice
	timer   *time.Timer
	stalled bool
	ended   chan struct{}
	once    sync.Once
}

func newCutBody(body io.ReadCloser, dice *histories.Dice, life time.Duration) *cutBody {
	c := &cutBody{ReadCloser: body, dice: dice, stalled: dice.Strike(histories.Stalled) != "", ended: make(chan struct{})}
	c.timer = time.AfterFunc(life, func() { _ = c.Close() })
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
	switch c.dice.Strike(histories.Closed, histories.Broken, histories.Delayed) {
	case histories.Closed:
		_ = c.Close()
		return n, io.EOF
	case histories.Broken:
		_ = c.Close()
		return n / 2, io.ErrUnexpectedEOF
	case histories.Delayed:
		time.Sleep(time.Duration(c.dice.N(2000)) * time.Millisecond)
	}
	return n, err
}
