package stage

import (
	"errors"
	"io"
	"net"
	"syscall"
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

// transient reports whether the same request may succeed later: the server is busy or away.
func transient(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsTooManyRequests, apierrors.IsTimeout, apierrors.IsServerTimeout,
		apierrors.IsServiceUnavailable, apierrors.IsInternalError, disconnected,
	} {
		if is(err) {
			return true
		}
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 500
}

func disconnected(err error) bool {
	for _, target := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, target) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}
