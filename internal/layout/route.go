package layout

import (
	"cmp"
	"math"
	"slices"
)

// drawing routes the edges between the vertices, whose positions are known.
func (g *graph) drawing() Drawing {
	rows := g.rows()
	left := math.Inf(1)
	for _, v := range g.vertices {
		left = min(left, v.x-v.left)
	}
	var d Drawing
	for i := range g.vertices {
		v := &g.vertices[i]
		v.x -= left
		d.Width = max(d.Width, v.x+v.right)
		d.Height = max(d.Height, rows[v.layer].middle+v.height/2)
	}
	for i := range g.nodes {
		d.Nodes = append(d.Nodes, Point{g.vertices[i].x, rows[g.vertices[i].layer].middle})
	}
	r := router{graph: g, rows: rows, slack: g.slack(), ports: g.ports()}
	drawn := map[int]int{}
	for i, l := range g.links {
		if l.top == l.bottom {
			d.Paths = append(d.Paths, g.loop(d.Nodes[l.top], l, drawn[l.top]))
			drawn[l.top]++
			continue
		}
		d.Paths = append(d.Paths, r.path(i))
	}
	return d
}

// A row is the vertical position of a layer.
type row struct{ middle, half float64 }

func (g *graph) rows() []row {
	rows := make([]row, len(g.layers))
	y := 0.0
	for i, layer := range g.layers {
		height := 0.0
		for _, v := range layer {
			height = max(height, g.vertices[v].height)
		}
		rows[i] = row{y + height/2, height / 2}
		y += height + layerGap
	}
	return rows
}

// slack is the distance of each vertex to the nodes and labels on both sides. Edges do not count,
// because adjacent edges have the same direction.
func (g *graph) slack() []float64 {
	slack := make([]float64, len(g.vertices))
	for _, layer := range g.layers {
		edge := math.Inf(-1)
		for _, id := range layer {
			v := g.vertices[id]
			slack[id] = v.x - edge
			if v.height > 0 {
				edge = v.x + v.right
			}
		}
		edge = math.Inf(1)
		for _, id := range slices.Backward(layer) {
			v := g.vertices[id]
			slack[id] = min(slack[id], edge-v.x)
			if v.height > 0 {
				edge = v.x - v.left
			}
		}
	}
	return slack
}

// A port is where an edge leaves its upper node and enters its lower one.
type port struct{ leave, enter float64 }

// ports spreads the edges of each node over its side, in the order of their next vertices.
func (g *graph) ports() []port {
	ports := make([]port, len(g.links))
	below, above := make([][]int, len(g.nodes)), make([][]int, len(g.nodes))
	for i, l := range g.links {
		if l.top != l.bottom {
			below[l.top], above[l.bottom] = append(below[l.top], i), append(above[l.bottom], i)
		}
	}
	for v := range g.nodes {
		g.spread(v, below[v], func(l link) int { return l.dummies[0] }, func(i int, x float64) { ports[i].leave = x })
		g.spread(v, above[v], func(l link) int { return l.dummies[len(l.dummies)-1] }, func(i int, x float64) { ports[i].enter = x })
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

// A router finds the routes of the edges between different nodes.
type router struct {
	*graph
	rows  []row
	slack []float64
	ports []port
}

func (r *router) path(i int) Path {
	l := r.links[i]
	var path Path
	top, bottom := r.rows[r.vertices[l.top].layer], r.rows[r.vertices[l.bottom].layer]
	path.extendDown(r.ports[i].leave, top.middle+r.nodes[l.top].Height/2, top.middle+top.half)
	for n, id := range l.dummies {
		v, row := r.vertices[id], r.rows[r.vertices[id].layer]
		if v.height > 0 {
			path.Label = Point{v.x + labelGap, row.middle}
		}
		next := Point{r.ports[i].enter, bottom.middle - bottom.half}
		if n+1 < len(l.dummies) {
			next = Point{r.vertices[l.dummies[n+1]].x, r.rows[r.vertices[l.dummies[n+1]].layer].middle}
		}
		if v.height == 0 && r.mayCrossAslant(id, path.Points[len(path.Points)-1], next) {
			path.extendDown(v.x, row.middle, row.middle)
		} else {
			path.extendDown(v.x, row.middle-row.half, row.middle+row.half)
		}
	}
	path.extendDown(r.ports[i].enter, bottom.middle-bottom.half, bottom.middle-r.nodes[l.bottom].Height/2)
	if l.reversed {
		slices.Reverse(path.Points)
	}
	return path
}

// extendDown adds a point and, if to is below from, a vertical line down from it.
func (p *Path) extendDown(x, from, to float64) {
	p.Points = append(p.Points, Point{x, from})
	if to > from {
		p.Points = append(p.Points, Point{x, to})
	}
}

// mayCrossAslant reports whether an edge can cross a layer at an angle without coming near adjacent
// vertices.
func (r *router) mayCrossAslant(id int, before, after Point) bool {
	v, row := r.vertices[id], r.rows[r.vertices[id].layer]
	slope := max(math.Abs((v.x-before.X)/(row.middle-before.Y)), math.Abs((after.X-v.x)/(after.Y-row.middle)))
	return 1.5*slope*row.half < r.slack[id]-labelGap
}

// loop is the route of the n-th edge from a node to itself.
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
