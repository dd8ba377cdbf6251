package listwatch

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A backoff returns the time to wait after failures in a row.
type backoff struct {
	first, longest time.Duration
	failures       int
	random         *rand.Rand
}

func newBackoff(s Source, o Options) backoff {
	h := fnv.New64a()
	for _, part := range []string{s.Kind.String(), s.Namespace, s.Selection.LabelSelector, s.Selection.FieldSelector} {
		h.Write(append([]byte(part), 0))
	}
	return backoff{first: o.Retry, longest: o.Longest, random: rand.New(rand.NewPCG(o.Seed, h.Sum64()))}
}

// next returns the time to wait after one more failure.
func (b *backoff) next() time.Duration {
	d := b.first
	for i := 0; i < b.failures && d < b.longest; i++ {
		d *= 2
	}
	b.failures++
	return b.jitter(min(d, b.longest))
}

// after is next, or longer if the server asks for that.
func (b *backoff) after(err error) time.Duration {
	d := b.next()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(seconds)*time.Second)
	}
	return d
}

func (b *backoff) reset() { b.failures = 0 }

// jitter changes d by at most a tenth, so that many sources do not ask at the same time.
func (b *backoff) jitter(d time.Duration) time.Duration {
	d = max(d, 0)
	return d - d/10 + time.Duration(b.random.Int64N(int64(d/5)+1))
}

// sleep waits for d, at most until ctx is done or wake has a value, which it reports. It makes no timer for 0: under the race detector,
// timers of several goroutines that are due at once can crash tests in virtual time
// (golang/go#78156).
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	}
}
