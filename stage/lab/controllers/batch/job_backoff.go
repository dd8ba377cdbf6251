package batch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// A backoff is the number of Pods of a Job that have failed since the last success, and the time of
// the last failure.
type backoff struct {
	job      types.UID
	failures int
	last     time.Time
}

// backoffs are the backoffs of Jobs. The Pods that they count can be gone.
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

// left returns the time until a Pod can be replaced. It is longer after each failure.
func (b backoff) left(now time.Time) time.Duration { return backoffLeft(b.failures, b.last, now) }
