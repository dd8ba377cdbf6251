// Package layout computes a layered drawing of a directed graph: it places the nodes in layers,
// from top to bottom, and routes the edges between them, by the method of Sugiyama, Tagawa and Toda
// (1981).
//
// # Terminology
//
// A vertex is a node, or a dummy where an edge crosses a layer. The label of an edge is at the
// right of its first dummy.
//
// # Determinism
//
// The drawing depends only on the arguments.
//
// # Limits
//
// The package is meant for some hundred nodes: time grows with the square of the number of edges
// between two layers.
package layout

import "cmp"

// A Node is a box to be placed.
type Node struct{ Width, Height float64 }

// An Edge leads from one node to another or to the same, and may have a label of a given size.
type Edge struct {
	From, To      int // indexes of nodes
	Width, Height float64
	// Weight is the importance of a straight edge, compared with other edges; 0 counts as 1.
	Weight float64
}

// A Point is a position in the drawing: x grows to the right, y down.
type Point struct{ X, Y float64 }

// A Path is the route of an edge.
type Path struct {
	// Points are the start of the edge, the points that it passes, and its end. It leaves and
	// enters nodes vertically. An edge from a node to itself goes to the right, round its second
	// point.
	Points []Point
	Label  Point // the middle of the label's left side
}

// A Drawing is a graph with positions.
type Drawing struct {
	Width, Height float64
	Nodes         []Point // the centers
	Paths         []Path  // one for each edge
}

// Distances in the drawing.
const (
	nodeGap  = 34.0 // between adjacent nodes of a layer
	edgeGap  = 22.0 // between an edge and an adjacent vertex
	layerGap = 24.0 // between layers; every other one has only labels
	labelGap = 6.0  // between an edge and its label
	portGap  = 26.0 // between edges that leave a node
	loopSize = 26.0 // how far an edge from a node to itself goes to the right
)

// Draw computes positions and routes. Edges point down, unless they are part of a loop; in a loop
// the nodes that come first in the arguments are above the others.
func Draw(nodes []Node, edges []Edge) Drawing {
	g := newGraph(nodes, edges)
	g.removeCycles()
	g.assignLayers()
	g.insertDummies()
	g.orderLayers()
	g.assignX()
	return g.drawing()
}

// A vertex is a node, or a dummy where an edge crosses a layer.
type vertex struct {
	layer       int
	left, right float64 // how far it extends from x
	height      float64
	x           float64
	up, down    []neighbor // in the layers above and below
	dummy       bool       // not a node
}

// A neighbor is the other end of a segment of an edge.
type neighbor struct {
	vertex int
	weight float64
}

// A link is an edge, with the dummy vertices on its way through the layers.
type link struct {
	Edge
	top, bottom int // nodes
	reversed    bool
	dummies     []int // the vertices between top and bottom
}

type graph struct {
	nodes    []Node
	edges    []Edge
	links    []link // of the edges between different nodes; others have top == bottom
	vertices []vertex
	layers   [][]int
	loops    map[int]int // number of edges from each node to itself
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

// removeCycles reverses edges that would close a cycle.
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

// eachLink calls f for each link between different nodes.
func (g *graph) eachLink(f func(*link)) {
	for i := range g.links {
		if l := &g.links[i]; l.top != l.bottom {
			f(l)
		}
	}
}

// assignLayers gives each node a layer: as high as its edges allow, and then lower where that
// shortens edges. Nodes are in even layers, labels in odd ones.
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

// lowerNodes moves nodes with more edges below than above down, once.
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

// insertDummies adds a vertex where an edge crosses a layer.
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
	g.vertices[upper].down = append(g.vertices[upper].down, neighbor{lower, weight})
	g.vertices[lower].up = append(g.vertices[lower].up, neighbor{upper, weight})
}
