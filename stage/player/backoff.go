package player

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stagecraft-go/stagecraft/internal/random"
)

// backoff is a growing pause between tries. Its randomness comes from a hash, so that a run can be
// repeated.
type backoff struct {
	first, longest time.Duration
	hash           random.Hash
	tries          uint64
}

// next returns the next pause: twice the last one up to the longest, shortened by up to half.
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

// transient reports whether the same request may succeed later: the server is busy, away, or does
// not accept the credentials of the moment; or the answer is not that of a server at all, so that
// the connection is to blame.
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

// unanswered reports whether the connection is to blame: nobody has answered the request.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return transient(err) && !errors.As(err, &status)
}

// longestOutage bounds the pauses between tries whether the server is there again: it may be asked
// often, because a connection that is refused costs it nothing, and whoever restarts a server wants
// things to go on.
const longestOutage = 5 * time.Second

// An outage is when requests are not answered. The first time that may be due to the one request,
// and only its object waits. When the next one is not answered either, nothing more is sent until a
// pause has passed, so that the objects that are due do not spend the time of a request each, one
// after another, and need not wait each for a pause of its own when the server is back.
type outage struct {
	pause  backoff
	failed bool // the last request
	until  time.Time
}

// note takes in how a request went.
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

// A localError was found before anything was sent. Sending again cannot help.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }
