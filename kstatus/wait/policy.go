package wait

import (
	"cmp"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Options say how the cluster is observed. The zero value is the default.
type Options struct {
	Rules        *kstatus.Rules // nil: [kstatus.Extended]
	Interval     time.Duration  // between two polls, with a jitter of a tenth; 0: two seconds
	Retry        time.Duration  // backoff after a failure, doubled up to 16 times that; 0: one second
	Alone        bool           // judge objects without their children
	PerNamespace bool           // never list or watch all namespaces at once
	Seed         uint64         // of the jitter
}

func (o Options) withDefaults() Options {
	if o.Rules == nil {
		o.Rules = kstatus.Extended()
	}
	o.Interval = min(cmp.Or(o.Interval, 2*time.Second), longest)
	o.Retry = min(cmp.Or(o.Retry, time.Second), longest)
	return o
}

// longest is the longest time between two polls.
const longest = 24 * time.Hour

// A Goal is what is waited for. The zero value is Current, without a limit.
type Goal struct {
	// Status is the status that an object shall reach; "": Current. NotFound is also reached if
	// another object has taken the name, or if the cluster does not have the kind. Unknown and
	// NotSeen cannot be waited for.
	Status   kstatus.Status
	AbsentOK bool          // an object that does not exist has reached the goal too
	Timeout  time.Duration // from the begin of the wait until the object is given up; 0: none

	// MissingTimeout is how long at a stretch the object may be missing: NotFound though it is not
	// waited for that, of a kind that the cluster does not have, or of a kind that must not be
	// read. It is then given up, unless it comes while other objects are still waited for. 0: no
	// limit, but half a minute if the policy is FailFast.
	MissingTimeout time.Duration

	// Basis is the least basis on which Current counts; 0: any. An object that is Current on a weaker
	// one, such as a guess, is held: it is waited for until its basis is better, or until it has been
	// Current for HoldOn. A HoldOn of 0 has no end, so that the wait needs a timeout.
	Basis  kstatus.Basis
	HoldOn time.Duration
}

func (g Goal) wanted() kstatus.Status {
	return cmp.Or(g.Status, kstatus.Current)
}

// A Policy says what is waited for, and when to give up. The zero value waits for all objects to be
// Current.
type Policy struct {
	Options
	Goal
	Goals map[Ref]Goal // goals of single objects, instead of Goal

	// FailFast: end with the first object that Failed, even if it may recover, or is missing for too
	// long. Before that every object is looked at once, for at most half a minute, so that the error
	// says what is done and names all objects that have failed.
	FailFast bool

	// IgnoreSuspended: suspended objects have reached their goal. Otherwise the wait goes on until
	// someone resumes them, although their status is Current.
	IgnoreSuspended bool

	Report *Reporter // writes the progress of the wait; nil: nothing is written
	// Observe is called with every change, after it was counted, by the goroutine that waits; nil:
	// not.
	Observe func(*Collector, State)
}

func (p *Policy) goal(ref Ref) Goal {
	g, ok := p.Goals[ref]
	if !ok {
		g = p.Goal
	}
	if g.MissingTimeout == 0 && p.FailFast {
		g.MissingTimeout = patience
	}
	return g
}
