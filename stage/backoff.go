package stage

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// backoff is a growing pause between tries. Its randomness comes from a hash, so that a run can be repeated.
type backoff struct {
	first, longest time.Duration
	hash           hash
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
	return d - time.Duration(below(b.hash.number(b.tries).sum(), uint64(d/2)+1))
}

func (b *backoff) reset() { b.tries = 0 }

// transient reports whether the same request may succeed later: the server is busy, away, or does not accept the credentials of the moment; or the answer is
// not that of a server at all, so that the connection is to blame.
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

// A localError was found before anything was sent. Sending again cannot help.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }
