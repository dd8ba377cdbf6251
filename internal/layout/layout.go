// Package layout places the nodes of a directed graph in layers, from top to bottom, and routes its edges between them: the method of
// Sugiyama, Tagawa and Toda (1981).
//
// # Terminology
//
// A vertex is a node, or a place that an edge passes in a layer. The label of an edge stands at the right of the first place that it
// passes.
//
// # Determinism
//
// The drawing depends on the arguments alone.
//
// # Limits
//
// Meant for some hundred nodes: time grows with the square of edges between two layers.
package layout

import "cmp"

// A Node is a box to be placed.
type Node struct{ Width, Height float64 }

// An Edge leads from a node to a node, which may be the same, with a label of a size; 0 if it has none.
type Edge struct {
	From, To      int // places among the nodes
	Width, Height float64
	// Weight is how much the edge wants to be straight, beside others; 0 counts as 1.
	Weight float64
}

// A Point is a place in the drawing: x to the right, y down.
type Point struct{ X, Y float64 }

// A Path is where an edge goes.
type Path struct {
	// Points are where it begins, what it passes, and where it ends. It leaves and enters nodes vertically. That of an edge from a node
	// to itself goes to the right, round its second point.
	Points []Point
	Label  Point // the middle of its left side
}

// A Drawing is a graph with places.
type Drawing struct {
	Width, Height float64
	Nodes         []Point // their centres
	Paths         []Path  // of the edges
}

// Distances in the drawing.
const (
	nodeGap  = 34.0 // between nodes beside each other
	edgeGap  = 22.0 // between an edge and what is beside it
	layerGap = 24.0 // between layers; every other one has only labels
	labelGap = 6.0  // between an edge and its label
	portGap  = 26.0 // between edges that leave a node
	loopSize = 26.0 // how far an edge from a node to itself goes to the right
)

// Draw places a graph. Edges point down as far as there are no loops; where there are, the nodes given first are above the others.
func Draw(nodes []Node, edges []Edge) Drawing {
	g := newGraph(nodes, edges)
	g.removeCycles()
	g.assignLayers()
	g.insertDummies()
	g.orderLayers()
	g.assignX()
	return g.drawing()
}

// A vertex is a node, or a place that an edge passes.
type vertex struct {
	layer       int
	left, right float64 // how far it reaches from x
	height      float64
	x           float64
	up, down    []neighbour // in the layers above and below
	dummy       bool        // not a node
}

// A neighbour is the other end of a piece of an edge.
type neighbour struct {
	vertex int
	weight float64
}

// A link is an edge on its way through the layers.
type link struct {
	Edge
	top, bottom int // nodes
	reversed    bool
	dummies     []int // vertices between top and bottom
}

type graph struct {
	nodes    []Node
	edges    []Edge
	links    []link // of the edges between different nodes; others have top == bottom
	vertices []vertex
	layers   [][]int
	loops    map[int]int // edges from a node to itself
}

func newGraph(nodes []Node, edges []Edge) *graph {
	g := &graph{nodes: nodes, edges: edges, loops: map[int]int{}}
	for _, n := range nodes {
		g.vertices = append(g.vertices, vertex{left: n.Width / 2, right: n.Width / 2, height: n.Height})
	}
	for _, e := range edges {
		g.links = append(g.links, link{Edge: e, top: e.From, bottom: e.To})
		if e.From == e.To {
			v := &g.vertices[e.From]
			v.right = max(v.right, nodes[e.From].Width/2+loopSize+labelGap+e.Width)
			v.height = max(v.height, float64(g.loops[e.From]+1)*(e.Height+labelGap))
			g.loops[e.From]++
		}
	}
	return g
}

// direct turns edges around that would close a loop.
func (g *graph) removeCycles() {
	state := make([]int, len(g.nodes)) // 1: on the way, 2: done
	out := make([][]int, len(g.nodes))
	for i, l := range g.links {
		out[l.top] = append(out[l.top], i)
	}
	var visit func(int)
	visit = func(v int) {
		state[v] = 1
		for _, i := range out[v] {
			l := &g.links[i]
			switch {
			case l.top == l.bottom:
			case state[l.bottom] == 1:
				l.top, l.bottom, l.reversed = l.bottom, l.top, true
			case state[l.bottom] == 0:
				visit(l.bottom)
			}
		}
		state[v] = 2
	}
	for v := range g.nodes {
		if state[v] == 0 {
			visit(v)
		}
	}
}

// between calls f for each link between different nodes.
func (g *graph) eachLink(f func(*link)) {
	for i := range g.links {
		if l := &g.links[i]; l.top != l.bottom {
			f(l)
		}
	}
}

// rank gives each node a layer: as high as its edges allow, then down as far as that shortens edges. Nodes are in even layers, labels in
// odd ones.
func (g *graph) assignLayers() {
	for changed := true; changed; {
		changed = false
		g.eachLink(func(l *link) {
			if least := g.vertices[l.top].layer + 2; g.vertices[l.bottom].layer < least {
				g.vertices[l.bottom].layer, changed = least, true
			}
		})
	}
	for range len(g.nodes) {
		if !g.lowerNodes() {
			return
		}
	}
}

// sink moves nodes with more edges below than above down, once.
func (g *graph) lowerNodes() (moved bool) {
	const bottomless = 1 << 30
	above, below, room := make([]int, len(g.nodes)), make([]int, len(g.nodes)), make([]int, len(g.nodes))
	for v := range room {
		room[v] = bottomless
	}
	g.eachLink(func(l *link) {
		above[l.bottom]++
		below[l.top]++
		room[l.top] = min(room[l.top], g.vertices[l.bottom].layer-2)
	})
	for v := range g.nodes {
		if below[v] > above[v] && above[v] > 0 && room[v] > g.vertices[v].layer {
			g.vertices[v].layer, moved = room[v], true
		}
	}
	return moved
}

// cut makes a vertex of each place where an edge passes a layer.
func (g *graph) insertDummies() {
	g.eachLink(func(l *link) {
		last := l.top
		for layer := g.vertices[l.top].layer + 1; layer < g.vertices[l.bottom].layer; layer++ {
			v := vertex{layer: layer, dummy: true, left: 1, right: 1}
			if len(l.dummies) == 0 && !l.reversed || l.reversed && layer == g.vertices[l.bottom].layer-1 {
				v.right, v.height = labelGap+l.Width, l.Height
			}
			g.vertices = append(g.vertices, v)
			id := len(g.vertices) - 1
			l.dummies = append(l.dummies, id)
			g.join(last, id, l.Weight)
			last = id
		}
		g.join(last, l.bottom, l.Weight)
	})
	for id, v := range g.vertices {
		for len(g.layers) <= v.layer {
			g.layers = append(g.layers, nil)
		}
		g.layers[v.layer] = append(g.layers[v.layer], id)
	}
}

func (g *graph) join(upper, lower int, weight float64) {
	weight = cmp.Or(weight, 1)
	g.vertices[upper].down = append(g.vertices[upper].down, neighbour{lower, weight})
	g.vertices[lower].up = append(g.vertices[lower].up, neighbour{upper, weight})
}
