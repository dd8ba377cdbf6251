package explore

import (
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A timing is the part of a graph that matters for the time from one State to a target.
type timing struct {
	graph         *Graph
	from          int
	isTarget      []bool // by State: it meets the target
	reachesTarget []bool // by State: the target can be reached from it, or it was not explored
	reachable     []int  // from, and the States that follow until the target, in an order in which only loops go back
	moves         [][]move
	objects       int  // the number of objects with Stages that are played
	concurrent    bool // whether Stages of several objects are pending in some State
}

// A move is a transition by a Stage.
type move struct {
	to       int
	object   int    // number of the object
	stage    string // its Stage
	chance   float64
	min, max time.Duration // of the delay; a negative min counts as 0
	delay    delay.Range
}

// isDrawn reports whether the delay is spread by a distribution, not uniformly.
func (m move) isDrawn() bool { return m.delay.Drawn() }

func (m move) least() time.Duration    { return max(m.min, 0) }
func (m move) greatest() time.Duration { return max(m.max, 0) }

func (g *Graph) timingTo(target Target, from int) *timing {
	n := len(g.States)
	w := &timing{graph: g, from: from, isTarget: make([]bool, n), reachesTarget: make([]bool, n), moves: make([][]move, n)}
	for i, s := range g.States {
		w.isTarget[i] = target(s)
	}
	actors := map[stage.Key]int{}
	for _, t := range g.Transitions {
		if t.Action != "" {
			continue
		}
		actor, known := actors[t.Key]
		if !known {
			actor = len(actors)
			actors[t.Key] = actor
		}
		w.moves[t.From] = append(w.moves[t.From], move{t.To, actor, t.Stage, t.Chance, min(t.Delay.Min, maxTime), min(t.Delay.Max, maxTime), t.Delay})
	}
	w.objects = len(actors)
	w.visit(from, make([]bool, n))
	slices.Reverse(w.reachable)
	w.markReachesTarget()
	for _, id := range w.reachable {
		w.concurrent = w.concurrent || w.hasConcurrency(id)
	}
	return w
}

// visit appends the States that follow id, and then id.
func (w *timing) visit(id int, seen []bool) {
	seen[id] = true
	if !w.isTarget[id] {
		for _, m := range w.moves[id] {
			if !seen[m.to] {
				w.visit(m.to, seen)
			}
		}
	}
	w.reachable = append(w.reachable, id)
}

// markReachesTarget marks the States from which the target, or an unexplored State, can be reached.
func (w *timing) markReachesTarget() {
	for changed := true; changed; {
		changed = false
		for _, id := range slices.Backward(w.reachable) {
			alive := w.isTarget[id] || w.graph.States[id].Unexplored || slices.ContainsFunc(w.moves[id], func(m move) bool { return w.reachesTarget[m.to] })
			if alive && !w.reachesTarget[id] {
				w.reachesTarget[id], changed = true, true
			}
		}
	}
}

// hasConcurrency reports whether Stages of several objects are pending in a State that matters.
func (w *timing) hasConcurrency(id int) bool {
	return !w.isTarget[id] && w.reachesTarget[id] && slices.ContainsFunc(w.moves[id], func(m move) bool { return m.object != w.moves[id][0].object })
}

// hasDraws reports whether a delay is not uniform.
func (w *timing) hasDraws() (has bool) {
	w.eachMove(func(_ int, m move) { has = has || m.isDrawn() })
	return has
}

// eachMove calls f for each move between States that are on some way to the target.
func (w *timing) eachMove(f func(from int, m move)) {
	for _, id := range w.reachable {
		if w.isTarget[id] {
			continue
		}
		for _, m := range w.moves[id] {
			if w.reachesTarget[m.to] {
				f(id, m)
			}
		}
	}
}

const (
	never = time.Duration(-1)
	// maxTime bounds delays and times, so that their sums do not overflow.
	maxTime = 100 * 365 * 24 * time.Hour
)

// shortest is the least time to the target; never without a way.
func (w *timing) shortest() time.Duration {
	return w.extreme(func(a, b time.Duration) bool { return a < b }, move.least)
}

// longest is the greatest time to the target; never without a bound or without a way.
func (w *timing) longest() time.Duration {
	part := &Graph{States: w.graph.States}
	w.eachMove(func(from int, m move) {
		t := Transition{From: from, To: m.to}
		t.Delay.Max = m.greatest()
		part.Transitions = append(part.Transitions, t)
	})
	cycle := make([]int, len(part.States))
	for i, states := range part.components(func(Transition) bool { return true }) {
		for _, s := range states {
			cycle[s] = i + 1
		}
	}
	for _, t := range part.Transitions {
		if t.Delay.Max > 0 && cycle[t.From] > 0 && cycle[t.From] == cycle[t.To] {
			return never
		}
	}
	return w.extreme(func(a, b time.Duration) bool { return a > b }, move.greatest)
}

// extreme is the best sum of costs over all ways to the target. Loops must not improve it.
func (w *timing) extreme(better func(a, b time.Duration) bool, cost func(move) time.Duration) time.Duration {
	sums := make([]time.Duration, len(w.graph.States))
	for i := range sums {
		sums[i] = never
	}
	sums[w.from] = 0
	for changed := true; changed; {
		changed = false
		w.eachMove(func(from int, m move) {
			if sums[from] == never {
				return
			}
			sum := min(sums[from]+cost(m), maxTime)
			if sums[m.to] == never || better(sum, sums[m.to]) {
				sums[m.to], changed = sum, true
			}
		})
	}
	best := never
	for _, id := range w.reachable {
		if w.isTarget[id] && sums[id] != never && (best == never || better(sums[id], best)) {
			best = sums[id]
		}
	}
	return best
}
