package listwatch

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A pause gives the time to rest after failures in a row.
type pause struct {
	first, longest time.Duration
	failures       int
	dice           *rand.Rand
}

func newPause(s Source, o Options) pause {
	h := fnv.New64a()
	for _, part := range []string{s.Kind.String(), s.Namespace, s.Selection.LabelSelector, s.Selection.FieldSelector} {
		h.Write(append([]byte(part), 0))
	}
	return pause{first: o.Retry, longest: o.Longest, dice: rand.New(rand.NewPCG(o.Seed, h.Sum64()))}
}

// next is the pause after one more failure.
func (p *pause) next() time.Duration {
	d := p.first
	for i := 0; i < p.failures && d < p.longest; i++ {
		d *= 2
	}
	p.failures++
	return p.about(min(d, p.longest))
}

// after is next, or longer if the server asks for that.
func (p *pause) after(err error) time.Duration {
	d := p.next()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(seconds)*time.Second)
	}
	return d
}

func (p *pause) reset() { p.failures = 0 }

// about is d give or take a tenth, so that followers do not march in step.
func (p *pause) about(d time.Duration) time.Duration {
	d = max(d, 0)
	return d - d/10 + time.Duration(p.dice.Int64N(int64(d/5)+1))
}

// sleep waits, at most until ctx is done. It makes no timer for nothing: those that are due at once may crash tests in virtual time under the race
// detector, where several goroutines have some (golang/go#78156).
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
