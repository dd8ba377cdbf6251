package explore

import (
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A Graph is the States that objects can reach, and the Transitions between them.
type Graph struct {
	// States are in the order in which they were found; all States of one start object come before
	// the States of the next.
	States []State
	// Transitions are in the order of the States that they leave; for one State in the order of
	// objects and Stages, with actions last.
	Transitions []Transition
	// Starts are the States of the start objects, in their order.
	Starts []int
	// Stages are all Stages of the Set.
	Stages []Stage
}

// A Stage names a Stage of a Set.
type Stage struct {
	Kind schema.GroupVersionKind
	Name string
}

// A State is what an object, and the other objects that its Stages created or changed, look like
// between two transitions.
type State struct {
	ID  int       // index into Graph.States
	Key stage.Key // of the start object
	// Label distinguishes the State from the others of the start object in a few words, such as
	// "Running · Ready".
	Label string
	// Objects are the start object, unless it is gone, and the objects that its Stages created or
	// changed, by key. They must not be changed.
	Objects []Object
	// Entered is the time, since the start, at which the State was explored.
	Entered time.Duration
	// TimeDependent reports that what happens in the State depends on when it is entered; see the
	// package comment.
	TimeDependent bool
	// Unexplored reports that the State was not followed because there were more than
	// Options.MaxStates, or they took more than Options.MaxBytes.
	Unexplored bool

	matched []Stage
}

// An Object belongs to a State.
type Object struct {
	Key    stage.Key
	Object *unstructured.Unstructured
	// Resting reports that no Stage is played on the object until something else changes it.
	Resting bool
}

// Object returns the start object; nil if it is gone.
func (s State) Object() *unstructured.Unstructured {
	if len(s.Objects) == 0 || s.Objects[0].Key != s.Key {
		return nil
	}
	return s.Objects[0].Object
}

// A Transition leads from one State to another, or back to the same.
type Transition struct {
	From, To int       // indexes into Graph.States
	Key      stage.Key // of the object that the Stage is played on
	Stage    string    // "" if it is an action
	Action   string    // of the user; actions count neither for times nor for chances
	// Weight is the weight of the Stage; -1 if it has none.
	Weight int64
	// Chance is the probability that the Stage is chosen among the matching Stages, in (0, 1]; 0
	// for an action.
	Chance float64
	// Delay is the time since the object entered the Stage. That was when the State was entered, or
	// earlier if another object changed since. A negative delay means at once.
	Delay delay.Range
	// Effects are the effects that were sent, and the patches that were not sent because they
	// change nothing.
	Effects []stage.Effect
	// Changes are the differences between From and To, in the order of objects and paths.
	Changes []Change
	// Err is why the remaining effects were not sent.
	Err error
}

// From returns the transitions that leave a State.
func (g *Graph) From(id int) iter.Seq[Transition] {
	first, _ := slices.BinarySearchFunc(g.Transitions, id, func(t Transition, id int) int { return t.From - id })
	return func(yield func(Transition) bool) {
		for _, t := range g.Transitions[first:] {
			if t.From != id || !yield(t) {
				return
			}
		}
	}
}

// Unplayed returns the Stages that no transition plays, in the order of the Set. If the graph is
// Truncated, they may still be played in States that were not explored.
func (g *Graph) Unplayed() []Stage {
	played := map[Stage]bool{}
	for _, t := range g.Transitions {
		played[Stage{t.Key.GroupVersionKind(), t.Stage}] = true
	}
	return slices.DeleteFunc(slices.Clone(g.Stages), func(s Stage) bool { return played[s] })
}

// Outweighed returns the Stages that match in some State but have probability 0 in all of them.
func (g *Graph) Outweighed() []Stage {
	matched := map[Stage]bool{}
	for _, s := range g.States {
		for _, st := range s.matched {
			matched[st] = true
		}
	}
	return slices.DeleteFunc(g.Unplayed(), func(s Stage) bool { return !matched[s] })
}

// Terminal returns the States that no Stage leaves.
func (g *Graph) Terminal() []int {
	left := make([]bool, len(g.States))
	for _, t := range g.Transitions {
		if t.Action == "" {
			left[t.From] = true
		}
	}
	return g.where(func(s State) bool { return !left[s.ID] && !s.Unexplored })
}

// Ambiguous returns the States in which chance decides which Stage is played on an object.
func (g *Graph) Ambiguous() []int {
	return g.where(func(s State) bool {
		for t := range g.From(s.ID) {
			if t.Action == "" && t.Chance < 1 {
				return true
			}
		}
		return false
	})
}

// Truncated reports whether some States were not followed because of Options.MaxStates or MaxBytes.
func (g *Graph) Truncated() bool {
	return slices.ContainsFunc(g.States, func(s State) bool { return s.Unexplored })
}

// where returns the ids of the States with a property.
func (g *Graph) where(has func(State) bool) (ids []int) {
	for _, s := range g.States {
		if has(s) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
