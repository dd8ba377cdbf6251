package layered

import (
	"cmp"
	"math"
	"slices"
)

// drawing routes the edges between the vertices, which have their places.
func (g *graph) drawing() Drawing {
	y := g.heights()
	left := math.Inf(1)
	for _, v := range g.vertices {
		left = min(left, v.x-v.left)
	}
	var d Drawing
	for i := range g.vertices {
		v := &g.vertices[i]
		v.x -= left
		d.Width = max(d.Width, v.x+v.right)
		d.Height = max(d.Height, y[v.layer]+v.height/2)
	}
	for i := range g.nodes {
		d.Nodes = append(d.Nodes, Point{g.vertices[i].x, y[g.vertices[i].layer]})
	}
	ports := g.ports()
	drawn := map[int]int{}
	for i, l := range g.links {
		if l.top == l.bottom {
			d.Paths = append(d.Paths, g.loop(d.Nodes[l.top], l, drawn[l.top]))
			drawn[l.top]++
			continue
		}
		d.Paths = append(d.Paths, g.path(l, y, ports[i]))
	}
	return d
}

// heights is the y of the middle of each layer.
func (g *graph) heights() []float64 {
	middles := make([]float64, len(g.layers))
	y := 0.0
	for i, layer := range g.layers {
		height := 0.0
		for _, v := range layer {
			height = max(height, g.vertices[v].height)
		}
		middles[i] = y + height/2
		y += height + layerGap
	}
	return middles
}

// port is where an edge leaves its upper node and enters its lower one.
type port struct{ leave, enter float64 }

// ports spreads the edges of each node over its side, in the order in which they go on.
func (g *graph) ports() []port {
	ports := make([]port, len(g.links))
	below, above := make([][]int, len(g.nodes)), make([][]int, len(g.nodes))
	for i, l := range g.links {
		if l.top != l.bottom {
			below[l.top], above[l.bottom] = append(below[l.top], i), append(above[l.bottom], i)
		}
	}
	for v := range g.nodes {
		g.spread(v, below[v], func(l link) int { return l.passes[0] }, func(i int, x float64) { ports[i].leave = x })
		g.spread(v, above[v], func(l link) int { return l.passes[len(l.passes)-1] }, func(i int, x float64) { ports[i].enter = x })
	}
	return ports
}

func (g *graph) spread(v int, links []int, next func(link) int, set func(i int, x float64)) {
	x := func(i int) float64 { return g.vertices[next(g.links[i])].x }
	slices.SortStableFunc(links, func(a, b int) int { return cmp.Compare(x(a), x(b)) })
	width := g.nodes[v].Width - 2*labelGap
	gap := portGap
	if n := float64(len(links) - 1); n > 0 {
		gap = min(gap, width/n)
	}
	for n, i := range links {
		set(i, g.vertices[v].x+gap*(float64(n)-float64(len(links)-1)/2))
	}
}

// path is the way of an edge from node to node.
func (g *graph) path(l link, y []float64, p port) Path {
	top, bottom := g.vertices[l.top], g.vertices[l.bottom]
	path := Path{Points: []Point{{p.leave, y[top.layer] + g.nodes[l.top].Height/2}}}
	for _, id := range l.passes {
		v := g.vertices[id]
		if v.height == 0 {
			path.Points = append(path.Points, Point{v.x, y[v.layer]})
			continue
		}
		path.Points = append(path.Points, Point{v.x, y[v.layer] - v.height/2}, Point{v.x, y[v.layer] + v.height/2})
		path.Label = Point{v.x + labelGap, y[v.layer]}
	}
	path.Points = append(path.Points, Point{p.enter, y[bottom.layer] - g.nodes[l.bottom].Height/2})
	if l.reversed {
		slices.Reverse(path.Points)
	}
	return path
}

// loop is the way of the n-th edge from a node to itself.
func (g *graph) loop(at Point, l link, n int) Path {
	side := at.X + g.nodes[l.top].Width/2
	slot := l.Height + labelGap
	y := at.Y + slot*(float64(n)-float64(g.loops[l.top]-1)/2)
	reach := min(g.nodes[l.top].Height/4, slot/2-1)
	out := side + loopSize
	return Path{
		Points: []Point{{side, max(y-reach, at.Y-g.nodes[l.top].Height/2+4)}, {out, y}, {side, min(y+reach, at.Y+g.nodes[l.top].Height/2-4)}},
		Label:  Point{out + labelGap, y},
	}
}
