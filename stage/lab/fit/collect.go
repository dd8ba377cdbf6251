package fit

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A collector sorts the steps of a log into transitions.
type collector struct {
	complete bool
	number   int       // of the record at hand, from 1
	first    time.Time // of the log
	last     time.Time
	objects  map[object]entry
	samples  map[transitionKey][]time.Duration
	states   map[[2]string]*State // by kind and name
}

// An object is one of a log. One that is made again under its name is another.
type object struct{ kind, namespace, name, uid string }

// An entry is the last step of an object.
type entry struct {
	state   string
	at      time.Time
	seed    string // the seed path of the Stage that was played; "" if no Stage was played
	unknown bool   // it was in the state before the log began
}

func newCollector(complete bool) *collector {
	return &collector{complete: complete, objects: map[object]entry{}, samples: map[transitionKey][]time.Duration{}, states: map[[2]string]*State{}}
}

// add takes in a record. The error says how it contradicts an earlier one.
func (c *collector) add(r record.Record) error {
	c.number++
	if c.number == 1 {
		c.first = r.Time
	}
	if r.Time.Before(c.last) {
		return fmt.Errorf("record %d: %s: the time is before that of the record before", c.number, r.Object())
	}
	c.last = r.Time
	id := object{r.Kind, r.Namespace, r.Name, r.UID}
	before, known := c.objects[id]
	if before.state != r.From {
		return fmt.Errorf("record %d: %s: it comes from %q, but was last in %q", c.number, r.Object(), r.From, before.state)
	}
	again := r.Seed != "" && r.Seed == before.seed // one more write of the same Stage
	switch {
	case known && (again || r.From == r.To && r.Stage == ""):
		before.state = r.To
		c.objects[id] = before
	case known:
		c.step(r, before)
		fallthrough
	default:
		c.objects[id] = entry{state: r.To, at: r.Time, seed: r.Seed, unknown: !known && !c.complete && r.Time.Equal(c.first)}
	}
	if r.To == record.Deleted {
		delete(c.objects, id)
	}
	return nil
}

func (c *collector) step(r record.Record, before entry) {
	state := c.state(r.Kind, before.state)
	if before.unknown {
		state.Unknown++
		return
	}
	state.Left++
	key := transitionKey{r.Kind, r.From, r.To, r.Stage}
	c.samples[key] = append(c.samples[key], r.Time.Sub(before.at))
}

func (c *collector) state(kind, name string) *State {
	id := [2]string{kind, name}
	if c.states[id] == nil {
		c.states[id] = &State{Kind: kind, Name: name}
	}
	return c.states[id]
}

// finish counts the objects that are left.
func (c *collector) finish() []State {
	for id, e := range c.objects {
		c.state(id.kind, e.state).CutOff++
	}
	var states []State
	for _, s := range c.states {
		states = append(states, *s)
	}
	slices.SortFunc(states, func(a, b State) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return states
}

func keysOf[V any](m map[transitionKey]V) iter.Seq[transitionKey] { return maps.Keys(m) }
