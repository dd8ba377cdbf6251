package stage

import (
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/random"
)

// A weightedChoice draws one of the Stages that match an object.
//
// If no Stage gives a weight, all have the same chance. If the given weights sum to 0, the Stages
// with a weight have the same chance, and the others have no chance. Otherwise the chance is
// proportional to the weight.
type weightedChoice struct {
	choices []choice
	draws   draws
	given   int    // the number of Stages with a weight
	sum     uint64 // of their weights
}

// A choice is a Stage that can be drawn, and its weight.
type choice struct {
	stage  *compiled
	weight int64
	given  bool
}

// weigh reads the weights from the object.
func (w *weightedChoice) weigh(scope *expression.Scope) {
	for i := range w.choices {
		c := &w.choices[i]
		scope.Seed = w.draws.eval(c.stage.salt)
		r := c.stage.weight.Evaluate(scope)
		c.weight, c.given = r.Value, r.Given
		if c.given {
			w.given++
			w.sum += uint64(c.weight)
		}
	}
}

// draw weighs the Stages and chooses one. With only one Stage, it neither weighs nor draws.
func (w *weightedChoice) draw(scope *expression.Scope) *compiled {
	if len(w.choices) == 1 {
		return w.choices[0].stage
	}
	w.weigh(scope)
	return w.choose(w.draws.choice())
}

// weightOf returns the share of a choice in the total.
func (w *weightedChoice) weightOf(i int) uint64 {
	switch c := w.choices[i]; {
	case w.given == 0:
		return 1
	case !c.given:
		return 0
	case w.sum == 0:
		return 1
	default:
		return uint64(c.weight)
	}
}

func (w *weightedChoice) total() uint64 {
	switch {
	case w.given == 0:
		return uint64(len(w.choices))
	case w.sum == 0:
		return uint64(w.given)
	default:
		return w.sum
	}
}

func (w *weightedChoice) probability(i int) float64 {
	return float64(w.weightOf(i)) / float64(w.total())
}

// choose returns the Stage for a random number.
func (w *weightedChoice) choose(drawn uint64) *compiled {
	at := random.Below(drawn, w.total())
	for i := range w.choices {
		n := w.weightOf(i)
		if at < n {
			return w.choices[i].stage
		}
		at -= n
	}
	return nil // not reached: the weights sum to the total
}

// has reports whether a Stage can win.
func (w *weightedChoice) has(st *compiled) bool {
	for i := range w.choices {
		if w.choices[i].stage == st {
			return w.weightOf(i) > 0
		}
	}
	return false
}
