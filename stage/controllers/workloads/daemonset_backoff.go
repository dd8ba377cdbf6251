package workloads

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
)

// How long the next Pod that fails on a Node stays, which doubles each time. It begins anew after
// twice the longest.
const (
	firstDaemonDelay   = time.Second
	longestDaemonDelay = 15 * time.Minute
)

// A daemonBackoff knows which Pods of DaemonSets failed and were deleted, so that a Node on which
// they fail for ever is not kept busy.
type daemonBackoff struct {
	failures map[daemonFailure]*daemonDelay
	wake     map[types.UID]time.Time // when a DaemonSet is to be looked at because of a Pod that stays
}

// A daemonFailure is what is counted: failures of one generation of a DaemonSet on one Node.
type daemonFailure struct {
	set        types.UID
	generation int64
	node       string
}

type daemonDelay struct {
	delay time.Duration
	since time.Time // when the last Pod was deleted
}

func (d *daemonDelay) expired(now time.Time) bool { return now.Sub(d.since) > 2*longestDaemonDelay }

func newDaemonBackoff() *daemonBackoff {
	return &daemonBackoff{failures: map[daemonFailure]*daemonDelay{}, wake: map[types.UID]time.Time{}}
}

// mayDelete reports whether a Pod that failed on a Node may be deleted now, and if so counts it.
// Otherwise the DaemonSet is looked at again after the whole delay, as kube-controller-manager
// does, or when something happens.
func (b *daemonBackoff) mayDelete(set *unstructured.Unstructured, node string, now time.Time) bool {
	key := daemonFailure{set.GetUID(), fields.Int64(set.Object, 0, "status", "observedGeneration"), node}
	d := b.failures[key]
	switch {
	case d == nil || d.expired(now):
		b.failures[key] = &daemonDelay{firstDaemonDelay, now}
	case now.Sub(d.since) < d.delay:
		if at := now.Add(d.delay); b.wake[key.set].IsZero() || at.Before(b.wake[key.set]) {
			b.wake[key.set] = at
		}
		return false
	default:
		d.delay, d.since = min(2*d.delay, longestDaemonDelay), now
	}
	return true
}

// drop forgets what has expired.
func (b *daemonBackoff) drop(now time.Time) {
	for key, d := range b.failures {
		if d.expired(now) {
			delete(b.failures, key)
		}
	}
	for uid, at := range b.wake {
		if !at.After(now) {
			delete(b.wake, uid)
		}
	}
}

// after returns after which time a DaemonSet is to be looked at, 0 if it need not be.
func (b *daemonBackoff) after(set *unstructured.Unstructured, now time.Time) time.Duration {
	if at, ok := b.wake[set.GetUID()]; ok {
		return at.Sub(now)
	}
	return 0
}
