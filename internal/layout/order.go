package layout

import (
	"cmp"
	"slices"
)

// sweeps is the number of times that the layers are sorted, from the top and from the bottom in
// turn.
const sweeps = 24

// orderLayers sorts each layer so that few edges cross: by the mean position of the neighbors in
// the layer before, repeatedly, and keeps the best order (barycenter heuristic).
func (g *graph) orderLayers() {
	at := make([]int, len(g.vertices)) // places in their layers
	g.numberPlaces(at)
	best, least := g.snapshot(), g.crossings(at)
	for i := range sweeps {
		for n := 1; n < len(g.layers); n++ {
			layer, above := n, true
			if i%2 == 1 {
				layer, above = len(g.layers)-1-n, false
			}
			g.sortLayer(layer, above, at)
		}
		g.swapNeighbors(at)
		if c := g.crossings(at); c < least {
			best, least = g.snapshot(), c
		}
	}
	g.layers = best
}

func (g *graph) numberPlaces(at []int) {
	for _, layer := range g.layers {
		for i, v := range layer {
			at[v] = i
		}
	}
}

func (g *graph) snapshot() [][]int {
	layers := make([][]int, len(g.layers))
	for i, layer := range g.layers {
		layers[i] = slices.Clone(layer)
	}
	return layers
}

func (g *graph) sortLayer(layer int, above bool, at []int) {
	means := make(map[int]float64, len(g.layers[layer]))
	for i, v := range g.layers[layer] {
		near := g.vertices[v].down
		if above {
			near = g.vertices[v].up
		}
		means[v] = float64(i)
		if len(near) > 0 {
			sum := 0
			for _, n := range near {
				sum += at[n.vertex]
			}
			means[v] = float64(sum) / float64(len(near))
		}
	}
	slices.SortStableFunc(g.layers[layer], func(a, b int) int { return cmp.Compare(means[a], means[b]) })
	for i, v := range g.layers[layer] {
		at[v] = i
	}
}

// swapNeighbors swaps adjacent vertices as long as that reduces the crossings.
func (g *graph) swapNeighbors(at []int) {
	for better := true; better; {
		better = false
		for _, layer := range g.layers {
			for i := range len(layer) - 1 {
				a, b := layer[i], layer[i+1]
				if g.crossed(a, b, at) > g.crossed(b, a, at) {
					layer[i], layer[i+1] = b, a
					at[a], at[b] = i+1, i
					better = true
				}
			}
		}
	}
}

// crossed counts the crossings between the edges of two vertices of a layer if left is left of
// right.
func (g *graph) crossed(left, right int, at []int) int {
	l, r := g.vertices[left], g.vertices[right]
	return inversions(l.up, r.up, at) + inversions(l.down, r.down, at)
}

func inversions(left, right []neighbor, at []int) (n int) {
	for _, a := range left {
		for _, b := range right {
			if at[a.vertex] > at[b.vertex] {
				n++
			}
		}
	}
	return n
}

func (g *graph) crossings(at []int) (n int) {
	for _, layer := range g.layers {
		for i, a := range layer {
			for _, b := range layer[i+1:] {
				n += inversions(g.vertices[a].down, g.vertices[b].down, at)
			}
		}
	}
	return n
}
