package wait

import (
	"iter"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A State is what is known of an object.
type State struct {
	Ref   Ref
	UID   types.UID // of the last object of this name that was seen
	Since time.Time // when it came to this status
	Time  time.Time // when it came to this state

	// Result has a RecheckAfter of 0, because wait rechecks by itself. If it is Unknown and
	// Terminal, the reference can never be met.
	Result kstatus.Result

	// Err is the error of a look-up that failed: of the object, or of its children. The verdict is
	// then the last one; after half a minute, or if the object was not seen yet, it is Unknown.
	Err error

	wanted   kstatus.Status
	phase    phase
	replaced bool           // an object with another uid has taken the name
	finished kstatus.Status // the status when it had done its work; "": it has not
}

// A phase is how far an object is from its goal.
type phase uint8

const (
	pending phase = iota
	failing       // Failed, but may recover
	failed        // cannot recover
	missing       // for longer than the goal permits, but may come
	timedOut
	reached
	phases
)

// Progress is how far a wait has come.
type Progress struct {
	Total    int
	Reached  int
	Failed   int // whether they may recover or not
	Missing  int // for longer than [Goal].MissingTimeout
	TimedOut int
	Open     map[kstatus.Status]int // the objects that have not reached their goal, by status
}

// A Collector keeps the last state of each object, and counts them. It must not be used from
// several goroutines at once.
type Collector struct {
	policy Policy
	states []State
	index  map[Ref]int32
	open   map[kstatus.Status]int
	phases [phases]int

	hasLooked bool // a wait that fails fast does not look any longer for objects that are NotSeen
}

// NewCollector returns a Collector for the objects, all of them NotSeen. Of several equal
// references one is kept. The error is an [ErrInvalid].
func NewCollector(refs []Ref, policy Policy) (*Collector, error) {
	if err := faultsOf(refs, policy).err(); err != nil {
		return nil, err
	}
	return newCollector(refs, policy), nil
}

func newCollector(refs []Ref, policy Policy) *Collector {
	c := &Collector{
		policy: policy, states: make([]State, 0, len(refs)), index: make(map[Ref]int32, len(refs)),
		open: map[kstatus.Status]int{},
	}
	for _, ref := range refs {
		if _, twice := c.index[ref]; !twice {
			c.index[ref] = int32(len(c.states))
			c.states = append(c.states, State{Ref: ref, Result: notSeen, wanted: policy.goal(ref).wanted()})
		}
	}
	c.open[NotSeen], c.phases[pending] = len(c.states), len(c.states)
	return c
}

// Add keeps a state from [Events]. The state of an object that is not waited for is ignored.
func (c *Collector) Add(s State) {
	if i, ok := c.index[s.Ref]; ok {
		c.set(i, s)
	}
}

func (c *Collector) set(i int32, s State) {
	old := &c.states[i]
	s.replaced = old.replaced || old.UID != "" && s.UID != old.UID
	s.wanted = old.wanted
	s.phase = c.judge(s)
	if old.phase == timedOut {
		s.phase = timedOut
	}
	c.count(*old, -1)
	c.count(s, 1)
	*old = s
}

func (c *Collector) count(s State, n int) {
	c.phases[s.phase] += n
	if s.phase != reached {
		c.open[s.Result.Status] += n
	}
}

// judge compares a state with the goal of the object.
func (c *Collector) judge(s State) phase {
	status, wanted := s.Result.Status, s.wanted
	switch {
	case s.Result.Suspended && wanted == kstatus.Current:
		if c.policy.IgnoreSuspended {
			return reached
		}
		return pending
	case c.holds(s):
		return pending
	case status == wanted, s.finished == wanted && wasDeleted(status),
		status == kstatus.NotFound && c.policy.goal(s.Ref).AbsentOK,
		wanted == kstatus.NotFound && s.replaced:
		return reached
	case status == kstatus.Unknown && s.Result.Terminal, s.finished == kstatus.Failed && wasDeleted(status):
		return failed
	case status != kstatus.Failed || wanted == kstatus.NotFound:
		return pending
	case s.Result.Terminal:
		return failed
	}
	return failing
}

// Done reports whether there is nothing more to wait for: each object has reached its goal, timed
// out, is missing for too long, or Failed and cannot recover; or one has Failed or is missing for
// too long, the policy is FailFast, and no object is NotSeen any more.
func (c *Collector) Done() bool {
	if c.failsFast() && (c.hasLooked || c.open[NotSeen] == 0) {
		return true
	}
	return c.phases[pending]+c.phases[failing] == 0
}

// failsFast reports whether the policy is FailFast and there is a reason to end.
func (c *Collector) failsFast() bool {
	return c.policy.FailFast && c.phases[failing]+c.phases[failed]+c.phases[missing] > 0
}

// Progress returns the counts.
func (c *Collector) Progress() Progress {
	open := maps.Clone(c.open)
	maps.DeleteFunc(open, func(_ kstatus.Status, n int) bool { return n == 0 })
	return Progress{
		Total: len(c.states), Reached: c.phases[reached], Failed: c.phases[failing] + c.phases[failed],
		Missing: c.phases[missing], TimedOut: c.phases[timedOut], Open: open,
	}
}

// States yields the state of every object, in the order of the references.
func (c *Collector) States() iter.Seq[State] { return c.where(func(phase) bool { return true }) }

// Open yields the states of the objects that have not reached their goal.
func (c *Collector) Open() iter.Seq[State] {
	return c.where(func(p phase) bool { return p != reached })
}

func (c *Collector) where(holds func(phase) bool) iter.Seq[State] {
	return func(yield func(State) bool) {
		for i := range c.states {
			if holds(c.states[i].phase) && !yield(c.states[i]) {
				return
			}
		}
	}
}

// giveUp marks the objects whose timeout has passed.
func (c *Collector) giveUp(after time.Duration) {
	for i := range c.states {
		s := &c.states[i]
		if d := c.policy.goal(s.Ref).Timeout; d > 0 && d <= after && (s.phase == pending || s.phase == failing || s.phase == missing) {
			c.enter(int32(i), timedOut)
		}
	}
}

// enter moves an object to another phase.
func (c *Collector) enter(i int32, p phase) {
	s := &c.states[i]
	c.count(*s, -1)
	s.phase = p
	c.count(*s, 1)
}
