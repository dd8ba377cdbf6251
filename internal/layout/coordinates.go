package layout

// rounds is the number of times that the vertices are moved towards their neighbors.
const rounds = 60

// assignX finds the x of all vertices: it moves the vertices of each layer in turn towards their
// neighbors, as far as adjacent vertices allow. In the last rounds the layers above and below both
// count.
func (g *graph) assignX() {
	for _, layer := range g.layers {
		x := 0.0
		for i, v := range layer {
			if i > 0 {
				x += g.distance(layer[i-1], v)
			}
			g.vertices[v].x = x
		}
	}
	for i := range rounds {
		both := i >= rounds/3
		for n := range g.layers {
			g.alignLayer(g.layers[n], both || i%2 == 0, both || i%2 == 1)
		}
		for n := len(g.layers) - 1; n >= 0; n-- {
			g.alignLayer(g.layers[n], both || i%2 == 0, both || i%2 == 1)
		}
	}
}

// distance is the least distance between the x of two adjacent vertices.
func (g *graph) distance(left, right int) float64 {
	l, r := g.vertices[left], g.vertices[right]
	gap := nodeGap
	if l.dummy || r.dummy {
		gap = edgeGap
	}
	return l.right + gap + r.left
}

// alignLayer moves the vertices of a layer to where they want to be, with the least sum of squares
// and without changing their order: an isotonic regression, once the distances are subtracted,
// solved by pooling adjacent violators.
func (g *graph) alignLayer(layer []int, up, down bool) {
	type block struct{ sum, weight, size float64 }
	var blocks []block
	offsets := make([]float64, len(layer))
	for i, v := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + g.distance(layer[i-1], v)
		}
		want, weight := g.wantedX(v, up, down)
		blocks = append(blocks, block{(want - offsets[i]) * weight, weight, 1})
		for n := len(blocks); n > 1 && blocks[n-2].sum/blocks[n-2].weight > blocks[n-1].sum/blocks[n-1].weight; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.sum + b.sum, a.weight + b.weight, a.size + b.size})
		}
	}
	i := 0
	for _, b := range blocks {
		for range int(b.size) {
			g.vertices[layer[i]].x = b.sum/b.weight + offsets[i]
			i++
		}
	}
}

// wantedX is the weighted mean of the neighbors, and the sum of the weights. Segments of long
// edges have more weight, so that those edges are straight.
func (g *graph) wantedX(v int, up, down bool) (x, weight float64) {
	me := g.vertices[v]
	var sum float64
	count := func(neighbors []neighbor) {
		for _, n := range neighbors {
			w := n.weight
			if me.dummy {
				w *= 3
			}
			if g.vertices[n.vertex].dummy {
				w *= 3
			}
			sum += w * g.vertices[n.vertex].x
			weight += w
		}
	}
	if up {
		count(me.up)
	}
	if down {
		count(me.down)
	}
	if weight == 0 {
		return me.x, 0.01
	}
	return sum / weight, weight
}
