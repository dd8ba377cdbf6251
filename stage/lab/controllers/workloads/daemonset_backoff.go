package workloads

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// How long the next Pod that fails on a Node stays. The time doubles with each failure. It starts
// from the beginning after twice the longest time.
const (
	firstDaemonDelay   = time.Second
	longestDaemonDelay = 15 * time.Minute
)

// A daemonBackoff knows which Pods of DaemonSets failed and were deleted, so that a Node on which
// they always fail is not kept busy. It also knows when to look at DaemonSets if nothing happens.
type daemonBackoff struct {
	failures map[daemonFailure]*daemonDelay
	wake     map[types.UID]time.Time // the next look at each DaemonSet, the earliest of the requested times
	ready    map[types.UID]bool      // DaemonSets with a Pod that has become ready since the last look at them
}

// A daemonFailure identifies a count: failures of one generation of a DaemonSet on one Node.
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
	return &daemonBackoff{failures: map[daemonFailure]*daemonDelay{}, wake: map[types.UID]time.Time{}, ready: map[types.UID]bool{}}
}

// mayDelete reports whether a Pod that failed on a Node may be deleted now, and counts the
// deletion. Otherwise the next look at the DaemonSet is after the whole delay, as in
// kube-controller-manager, or when something happens.
func (b *daemonBackoff) mayDelete(set *unstructured.Unstructured, node string, now time.Time) bool {
	key := daemonFailure{set.GetUID(), fields.Int64(set.Object, 0, "status", "observedGeneration"), node}
	d := b.failures[key]
	switch {
	case d == nil || d.expired(now):
		b.failures[key] = &daemonDelay{firstDaemonDelay, now}
	case now.Sub(d.since) < d.delay:
		b.wakeAt(set, now.Add(d.delay))
		return false
	default:
		d.delay, d.since = min(2*d.delay, longestDaemonDelay), now
	}
	return true
}

// wakeAt has a DaemonSet be looked at at a time, unless it is before.
func (b *daemonBackoff) wakeAt(set *unstructured.Unstructured, at time.Time) {
	if before, ok := b.wake[set.GetUID()]; !ok || at.Before(before) {
		b.wake[set.GetUID()] = at
	}
}

// noteReady notes that a Pod has become ready. It asks for no reconcile: each change of a Pod does.
func (b *daemonBackoff) noteReady(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.Old == nil || ch.New == nil || fields.IsTerminating(ch.New) || pods.Of(ch.Old).IsReady() || !pods.Of(ch.New).IsReady() {
		return nil
	}
	if owner := metav1.GetControllerOfNoCopy(ch.New); owner != nil && owner.Kind == kinds.DaemonSet.Kind {
		b.ready[owner.UID] = true
	}
	return nil
}

// wakeReady schedules a look at a DaemonSet with a Pod that has become ready, a second after the
// Pod is available, as kube-controller-manager does.
func (b *daemonBackoff) wakeReady(set *unstructured.Unstructured, now time.Time) {
	seconds := fields.Int64(set.Object, 0, "spec", "minReadySeconds")
	if b.ready[set.GetUID()] && seconds > 0 {
		b.wakeAt(set, now.Add(fields.Seconds(seconds+1)))
	}
	delete(b.ready, set.GetUID())
}

// drop forgets expired failures.
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

// after returns the time until the next look at a DaemonSet, or 0 if no look is scheduled.
func (b *daemonBackoff) after(set *unstructured.Unstructured, now time.Time) time.Duration {
	if at, ok := b.wake[set.GetUID()]; ok {
		return at.Sub(now)
	}
	return 0
}
