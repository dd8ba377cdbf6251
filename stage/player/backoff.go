package player

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stagecraft-go/stagecraft/internal/random"
)

// backoff is a growing pause between tries. Its random numbers are hashes, so that a run can be
// repeated.
type backoff struct {
	first, longest time.Duration
	hash           random.Hash
	tries          uint64
}

// next returns the next pause: twice the last pause up to the longest, shortened by up to half.
func (b *backoff) next() time.Duration {
	d := b.first
	for i := uint64(0); i < b.tries && d < b.longest; i++ {
		d *= 2
	}
	d = min(d, b.longest)
	b.tries++
	return d - time.Duration(random.Below(b.hash.Number(b.tries).Sum(), uint64(d/2)+1))
}

func (b *backoff) reset() { b.tries = 0 }

// transient reports whether the same request can succeed later. The server is busy or away, it does
// not accept the present credentials, or the connection failed and no API server answered.
func transient(err error) bool {
	var local *localError
	if errors.As(err, &local) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == http.StatusUnauthorized || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500 ||
		apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err)
}

// unanswered reports whether the connection failed: no server has answered the request.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return transient(err) && !errors.As(err, &status)
}

// longestOutage is the longest pause between tries while the server does not answer. It is short,
// because a refused connection costs the server nothing, and because a restarted server should get
// requests soon.
const longestOutage = 5 * time.Second

// An outage is a time without answers. One failed request delays only its object. A second failed
// request in a row delays all requests of the worker until a pause has passed. Otherwise each due
// object would spend the time of a request, one after another, and would wait for a separate pause
// after the server is back.
type outage struct {
	pause  backoff
	failed bool // the last request
	until  time.Time
}

// note records the result of a request.
func (o *outage) note(err error, now time.Time) {
	switch {
	case err == nil || !unanswered(err):
		o.failed = false
		o.pause.reset()
	case o.failed:
		o.until = now.Add(o.pause.next())
	default:
		o.failed = true
	}
}

// A localError was found before a request was sent. Sending again cannot help.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }
