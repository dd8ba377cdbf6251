package hunt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// How a lease behaves: like one of client-go by default.
const (
	leaseDuration = 15 * time.Second // how long a lease outlives its last renewal
	renewDeadline = 10 * time.Second // how long a leader goes on that cannot renew it
)

// An election is what the replicas of a program share. The lease is no object of the cluster.
type election struct {
	holder *program // who took the lease last; nil if the lease is free
	until  time.Time
}

// Replicas adds several processes of one program with leader election: name-1, name-2, up to the number. One leads; the
// others wait without controllers, like the replicas of a manager with leader election. The function is
// called when one begins to lead. When the leader dies, or pauses for long, another one leads after
// 15s. It leads too early if the clock of its machine is ahead (see [Overlap]): for a while there are
// two. A leader that learns that it has lost the lease exits, and waits again after 1s. Without a
// replica, or with a name that a process has, the hunt ends with an error.
func (r *Run) Replicas(name string, n int, start func(*Process) []reconcile.Controller) {
	if n < 1 {
		panic(labFailure{fmt.Sprintf("%d replicas of %s: want at least 1", n, name)})
	}
	shared := &election{}
	for i := range n {
		r.outcome.elected = append(r.outcome.elected, fmt.Sprintf("%s-%d", name, i+1))
		r.add(&program{name: fmt.Sprintf("%s-%d", name, i+1), subject: name, start: start, up: r.start, election: shared})
	}
}

// begins returns when a program that is down starts, or begins to lead.
func (p *program) begins() (at time.Time, ok bool) {
	e := p.election
	switch {
	case e == nil || e.holder == nil:
		return p.up, true
	case e.holder.life != nil && (!e.holder.paused || e.holder.hangs):
		return at, false // it renews the lease
	case e.until.After(p.up):
		return e.until, true
	}
	return p.up, true
}

// takeLease makes a program the leader.
func (p *program) takeLease() {
	if p.election != nil {
		p.election.holder = p
	}
}

// leaveLease leaves the lease to end by itself.
func (p *program) leaveLease(now time.Time) {
	if p.election != nil && p.election.holder == p {
		p.election.until = now.Add(leaseDuration)
	}
}

// release frees the lease at once, as a leader does that is told to end.
func (p *program) release() {
	if p.election != nil {
		p.election.holder = nil
	}
}

// leads reports whether a process has the lease, or needs none.
func (p *program) leads() bool { return p.election == nil || p.election.holder == p }

// pause stops a process in the middle of a write, while the rest goes on. If it has lost the lease
// meanwhile, it learns so when it has carried out what it was about.
func (r *Run) pause(p *Process, f *planned) {
	lasts := cmp.Or(f.For, 30*time.Second)
	r.strikes(f, lasts)
	p.program.leaveLease(r.sim.Now())
	r.pass(p.program, lasts)
	if !p.program.leads() {
		p.expires = r.sim.Now()
	}
}

// overlap has another replica lead, and act first, while this one goes on for a while.
func (r *Run) overlap(p *Process, f *planned) {
	i := slices.IndexFunc(r.programs, func(q *program) bool {
		return q.election != nil && q.election == p.program.election && q.life == nil && !q.up.After(r.sim.Now())
	})
	if i < 0 || !p.program.leads() {
		return // no replica is there to take the lease, or it is lost already
	}
	lasts := cmp.Or(f.For, renewDeadline)
	r.strikes(f, lasts)
	r.begin(r.programs[i])
	p.expires = r.sim.Now().Add(lasts)
	r.pass(p.program, 0)
}

// pass plays for a while in the middle of a write.
func (r *Run) pass(p *program, lasts time.Duration) {
	end := r.sim.Now().Add(lasts)
	p.paused = true
	for r.observe(); r.playFirst(end); r.observe() {
	}
	r.advanceTo(end)
	p.paused = false
}

// hang has a process wait for an answer while the rest goes on.
func (r *Run) hang(p *program, lasts time.Duration) {
	if lasts == 0 {
		return
	}
	p.hangs = true
	r.pass(p, lasts)
	p.hangs = false
}

// lostLease has a process exit that has learned that it does not lead. It reports whether it did.
func (r *Run) lostLease(p *Process) bool {
	if p == nil || p.expires.IsZero() || p.expires.After(r.sim.Now()) {
		return false
	}
	r.tell(p.program.name, "has lost the lease and exits")
	p.die()
	p.program.up = r.sim.Now().Add(time.Second)
	return true
}

// skew has the clock of a process's machine differ for a while. What is due later by that clock may
// come as much later as it differs.
func (r *Run) skew(p *program, f *planned) {
	lasts, by := cmp.Or(f.For, 2*time.Minute), cmp.Or(f.By, time.Minute)
	r.strikes(f, lasts+by.Abs())
	p.skew, p.skewed = by, r.sim.Now().Add(lasts)
}

// clock returns the time as the machine of a program has it.
func (r *Run) clock(p *program) time.Time {
	now := r.sim.Now()
	if now.Before(p.skewed) {
		return now.Add(p.skew)
	}
	return now
}
