package kubelet

import (
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// leastGrace is the least time between the signals TERM and KILL.
const leastGrace = 2 * time.Second

// A stop is why, when and how a running container ends. The zero value is that it never does.
type stop struct {
	at, asked time.Time // it ends, and was asked to
	code      int64
	probe     string // the kind of the probe that failed
}

// stopAsked is how a container ends that the kubelet stops at a time.
func (c *container) stopAsked(at time.Time, grace time.Duration, probe string) stop {
	if c.program.known && c.program.runs > 0 && !c.program.guessed {
		return stop{at.Add(max(grace, leastGrace)), at, codeKilled, probe}
	}
	return stop{at, at, codeTerminated, probe}
}

// ownStop is how a running container ends unless its Pod is deleted: by itself, or by a probe that
// fails.
func (c *container) ownStop(grace time.Duration) (first stop) {
	if c.program.known {
		first = stop{at: c.started.Add(c.program.runs), code: c.program.code}
	}
	begins := time.Duration(0)
	if c.startup != nil {
		begins, _ = c.startup.passes(0)
		first = sooner(first, c.stopByProbe(c.startup, c.startup.fails(0), grace, "startup"))
	}
	if c.liveness != nil {
		first = sooner(first, c.stopByProbe(c.liveness, c.liveness.fails(begins), grace, "liveness"))
	}
	return first
}

func (c *container) stopByProbe(p *probe, fails, grace time.Duration, kind string) stop {
	if fails >= never {
		return stop{}
	}
	if own, ok := fields.Value(c.spec, kind+"Probe", "terminationGracePeriodSeconds").(int64); ok {
		grace = fields.Seconds(own)
	}
	return c.stopAsked(c.started.Add(fails), grace, kind)
}

func sooner(a, b stop) stop {
	if a.at.IsZero() || !b.at.IsZero() && b.at.Before(a.at) {
		return b
	}
	return a
}

// stopOf is how a running container ends: by itself, by a probe that fails, or because the kubelet
// stops all containers.
func (k *kubelet) stopOf(c *container) stop {
	s := c.ownStop(k.grace())
	asked := k.stopAskedAt()
	if asked.IsZero() {
		return s
	}
	turn := asked
	if c.sidecar {
		turn = k.turnOf(c, asked)
	}
	left := k.grace() - turn.Sub(asked).Truncate(time.Second)
	other := c.stopAsked(maxTime(turn, c.started), left, "")
	other.asked = maxTime(asked, c.started)
	return sooner(s, other)
}

// turnOf returns when a sidecar is stopped: after the containers that are not sidecars, and after
// the sidecars behind it, at the latest when the grace period is over.
func (k *kubelet) turnOf(c *container, asked time.Time) time.Time {
	turn := asked
	before := append(slices.Clone(k.mains), k.inits[slices.Index(k.inits, c)+1:]...)
	for _, o := range before {
		if o.running() && (o.sidecar || !o.init) {
			turn = maxTime(turn, k.stopOf(o).at)
		} else if o.ended != nil {
			turn = maxTime(turn, o.ended.finished)
		}
	}
	if last := asked.Add(k.grace()); turn.After(last) {
		return last
	}
	return turn
}

// stopAskedAt returns when all containers were asked to end: at the deletion of the Pod, at its
// deadline, or when only sidecars were left. The zero time is never.
func (k *kubelet) stopAskedAt() (at time.Time) {
	if deleted, ok := k.deletionAsked(); ok {
		at = deleted
	}
	if k.deadline {
		at = earlier(at, k.deadlineAt())
	}
	if k.isComplete() {
		at = earlier(at, k.completeAt())
	}
	return at
}

// completeAt returns when the last container ended that is not a sidecar.
func (k *kubelet) completeAt() (at time.Time) {
	for _, c := range k.all() {
		if c.ended != nil && !c.sidecar {
			at = maxTime(at, c.ended.finished)
		}
	}
	return at
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// grace is how long the containers of the Pod have between the signals TERM and KILL.
func (k *kubelet) grace() time.Duration {
	n := fields.Int64(k.pod.Object, 30, "spec", "terminationGracePeriodSeconds")
	return fields.Seconds(fields.Int64(k.pod.Object, n, "metadata", "deletionGracePeriodSeconds"))
}

// deletionAsked returns when the deletion of the Pod was asked for.
func (k *kubelet) deletionAsked() (time.Time, bool) {
	at, ok := fields.Time(k.pod.Object, "metadata", "deletionTimestamp")
	return at.Add(-fields.Seconds(fields.Int64(k.pod.Object, 0, "metadata", "deletionGracePeriodSeconds"))), ok
}
