package wait

import (
	"cmp"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Options say how objects are followed. The zero value is the default.
type Options struct {
	Rules        *kstatus.Rules // nil: the standard profile
	Interval     time.Duration  // between polls, give or take a tenth; 0: two seconds
	Retry        time.Duration  // pause after a failure, doubled by each one to 16 times that; 0: one second
	Alone        bool           // judge objects without their children
	PerNamespace bool           // never look into all namespaces at once
	Seed         uint64         // of the jitter
}

func (o Options) withDefaults() Options {
	if o.Rules == nil {
		o.Rules = kstatus.Standard()
	}
	o.Interval = min(cmp.Or(o.Interval, 2*time.Second), longest)
	o.Retry = min(cmp.Or(o.Retry, time.Second), longest)
	return o
}

// longest is more than anybody wants to wait between two looks.
const longest = 24 * time.Hour

// A Goal is what is waited for. The zero value is Current, without a limit.
type Goal struct {
	// Status is what an object shall come to; "": Current. NotFound is reached also when another object has taken the name, and when the
	// cluster does not have the kind. Unknown and NotSeen cannot be waited for.
	Status   kstatus.Status
	AbsentOK bool          // an object that is not there has reached it too
	Timeout  time.Duration // since the wait began, after which the object is given up; 0: none
}

func (g Goal) wanted() kstatus.Status {
	return cmp.Or(g.Status, kstatus.Current)
}

// A Policy says what is waited for, and when to give up. The zero value waits for all objects to be Current.
type Policy struct {
	Options
	Goal
	Goals    map[Ref]Goal // of single objects that are waited for, in place of Goal
	FailFast bool         // end with the first object that Failed, be it for good or not

	// IgnoreSuspended takes suspended objects for done. Otherwise they are waited for until someone resumes them: what is not running
	// yet is not ready, even if its status is Current.
	IgnoreSuspended bool

	Report *Reporter // writes how the wait goes; nil: nobody does
	// Observe is told of every change, after it was counted, by the goroutine that waits; nil: nobody is.
	Observe func(*Collector, State)
}

func (p *Policy) goal(ref Ref) Goal {
	if g, ok := p.Goals[ref]; ok {
		return g
	}
	return p.Goal
}
