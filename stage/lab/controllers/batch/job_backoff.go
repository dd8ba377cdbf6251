package batch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// A backoff is how many Pods of a Job have failed since the last one that succeeded, and when the
// last one failed.
type backoff struct {
	job      types.UID
	failures int
	last     time.Time
}

// backoffs are those of Jobs. The Pods that they count may be gone.
type backoffs map[types.NamespacedName]backoff

// of returns the backoff of a Job.
func (b backoffs) of(name types.NamespacedName, job types.UID) backoff {
	if known := b[name]; known.job == job {
		return known
	}
	return backoff{job: job}
}

// after returns the backoff when more Pods have ended.
func (b backoff) after(succeeded, failed []pods.Pod) backoff {
	success := time.Time{}
	for _, p := range succeeded {
		if at := p.FinishedAt(); at.After(success) {
			success = at
		}
	}
	if len(succeeded) > 0 {
		b.failures, b.last = 0, time.Time{}
	}
	for _, p := range failed {
		at := p.FinishedAt()
		if len(succeeded) > 0 && !at.After(success) {
			continue
		}
		b.failures++
		if at.After(b.last) {
			b.last = at
		}
	}
	return b
}

// left returns after which time a Pod may be replaced: longer after each failure.
func (b backoff) left(now time.Time) time.Duration { return backoffLeft(b.failures, b.last, now) }
