package explore

import "slices"

// A Cycle is a set of States that can reach one another by Stages. States that belong to several
// loops belong to one Cycle.
type Cycle struct {
	States      []int // in the order of Graph.States
	Transitions []int // between them, as indexes into Graph.Transitions
	// Endless reports that no Stage leads out of the Cycle.
	Endless bool
	// Livelock reports that the Cycle contains a loop without delays. An Engine stops playing an
	// object in such a loop. The delays alone decide: a loop that could end because it writes the
	// same time twice within a second counts too.
	Livelock bool
}

// Cycles returns all Cycles, in the order of their first States.
func (g *Graph) Cycles() []Cycle {
	stages := func(t Transition) bool { return t.Action == "" }
	components := g.components(stages)
	cycles, of := make([]Cycle, len(components)), make([]int, len(g.States)) // of: 1 + the cycle of a State
	for i, states := range components {
		cycles[i] = Cycle{States: states, Endless: true}
		for _, s := range states {
			of[s] = i + 1
		}
	}
	for i, t := range g.Transitions {
		switch c := of[t.From] - 1; {
		case c < 0 || !stages(t):
		case of[t.To]-1 == c:
			cycles[c].Transitions = append(cycles[c].Transitions, i)
		default:
			cycles[c].Endless = false
		}
	}
	for _, loop := range g.components(func(t Transition) bool { return stages(t) && t.Delay.Max <= 0 }) {
		cycles[of[loop[0]]-1].Livelock = true
	}
	return cycles
}

// components returns the strongly connected components that contain a loop, each sorted, by
// Tarjan's algorithm.
func (g *Graph) components(use func(Transition) bool) [][]int {
	s := componentSearch{next: make([][]int, len(g.States)), index: make([]int, len(g.States)), low: make([]int, len(g.States)), on: make([]bool, len(g.States))}
	for _, t := range g.Transitions {
		if use(t) {
			s.next[t.From] = append(s.next[t.From], t.To)
		}
	}
	for v := range s.next {
		if s.index[v] == 0 {
			s.visit(v)
		}
	}
	slices.SortFunc(s.found, func(a, b []int) int { return a[0] - b[0] })
	return s.found
}

// A componentSearch is one run of Tarjan's algorithm.
type componentSearch struct {
	next       [][]int
	index, low []int // 0: not visited
	on         []bool
	stack      []int
	count      int
	found      [][]int
}

func (s *componentSearch) visit(v int) {
	s.count++
	s.index[v], s.low[v] = s.count, s.count
	s.stack, s.on[v] = append(s.stack, v), true
	for _, w := range s.next[v] {
		if s.index[w] == 0 {
			s.visit(w)
			s.low[v] = min(s.low[v], s.low[w])
		} else if s.on[w] {
			s.low[v] = min(s.low[v], s.index[w])
		}
	}
	if s.low[v] == s.index[v] {
		s.pop(v)
	}
}

// pop removes the component of v from the stack, and keeps it if it contains a loop.
func (s *componentSearch) pop(v int) {
	at := len(s.stack) - 1
	for s.stack[at] != v {
		at--
	}
	component := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, w := range component {
		s.on[w] = false
	}
	if len(component) > 1 || slices.Contains(s.next[v], v) {
		slices.Sort(component)
		s.found = append(s.found, component)
	}
}
