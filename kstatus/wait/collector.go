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
	Ref    Ref
	Result kstatus.Result // its RecheckAfter is 0: that was seen to. Unknown and Terminal: the reference can never be met
	UID    types.UID      // of the last incarnation that was seen
	Since  time.Time      // when it came to this status
	Time   time.Time      // when it came to this state
	Err    error          // of the look-up that failed: of the object (then it is Unknown or NotFound), or of its children

	wanted   kstatus.Status
	phase    phase
	replaced bool // another object has taken the name since
}

// A phase is how far an object is from its goal.
type phase uint8

const (
	pending phase = iota
	failing       // Failed, but may recover
	failed        // for good
	late          // given up
	reached
	phases
)

// Progress is how far a wait has come.
type Progress struct {
	Total    int
	Reached  int
	Failed   int // of those, for good or not
	TimedOut int
	Open     map[kstatus.Status]int // how many of those that have not reached their goal have each status
}

// A Collector keeps the last state of each object, and counts. It holds one record for each of them. It must not be used from several
// goroutines at once.
type Collector struct {
	policy Policy
	states []State
	index  map[Ref]int32
	open   map[kstatus.Status]int
	phases [phases]int
}

// NewCollector returns a Collector for the objects, all of them NotSeen. Of several equal references one is kept. The error is an
// [ErrInvalid].
func NewCollector(refs []Ref, policy Policy) (*Collector, error) {
	if err := faultsOf(refs, policy).err(); err != nil {
		return nil, err
	}
	return newCollector(refs, policy), nil
}

func newCollector(refs []Ref, policy Policy) *Collector {
	c := &Collector{policy: policy, states: make([]State, 0, len(refs)), index: make(map[Ref]int32, len(refs)), open: map[kstatus.Status]int{}}
	for _, ref := range refs {
		if _, twice := c.index[ref]; !twice {
			c.index[ref] = int32(len(c.states))
			c.states = append(c.states, State{Ref: ref, Result: notSeen, wanted: policy.goal(ref).wanted()})
		}
	}
	c.open[NotSeen], c.phases[pending] = len(c.states), len(c.states)
	return c
}

// Add keeps a state from [Events]. One of an object that was not asked for is ignored.
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
	if old.phase == late {
		s.phase = late
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

// judge compares a state with the goal.
func (c *Collector) judge(s State) phase {
	status, wanted := s.Result.Status, s.wanted
	switch {
	case s.Result.Suspended && wanted == kstatus.Current:
		if c.policy.IgnoreSuspended {
			return reached
		}
		return pending
	case status == wanted, status == kstatus.NotFound && c.policy.goal(s.Ref).AbsentOK, wanted == kstatus.NotFound && s.replaced:
		return reached
	case status == kstatus.Unknown && s.Result.Terminal:
		return failed
	case status != kstatus.Failed || wanted == kstatus.NotFound:
		return pending
	case s.Result.Terminal:
		return failed
	}
	return failing
}

// Done tells whether there is nothing more to wait for: each object reached its goal, failed for good or timed out, or one failed
// that must not.
func (c *Collector) Done() bool {
	if c.policy.FailFast && c.phases[failing]+c.phases[failed] > 0 {
		return true
	}
	return c.phases[pending]+c.phases[failing] == 0
}

// Progress counts.
func (c *Collector) Progress() Progress {
	open := maps.Clone(c.open)
	maps.DeleteFunc(open, func(_ kstatus.Status, n int) bool { return n == 0 })
	return Progress{
		Total: len(c.states), Reached: c.phases[reached], Failed: c.phases[failing] + c.phases[failed], TimedOut: c.phases[late], Open: open,
	}
}

// States yields the state of every object, in the order in which they were asked for.
func (c *Collector) States() iter.Seq[State] { return c.where(func(phase) bool { return true }) }

// Open yields the states of those that have not reached their goal.
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

// giveUp marks the objects late whose time is up.
func (c *Collector) giveUp(after time.Duration) {
	for i := range c.states {
		s := &c.states[i]
		if d := c.policy.goal(s.Ref).Timeout; d > 0 && d <= after && (s.phase == pending || s.phase == failing) {
			c.count(*s, -1)
			s.phase = late
			c.count(*s, 1)
		}
	}
}
