package layout_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/layout"
)

// box is a rectangle of the drawing.
type box struct {
	name                     string
	left, right, top, bottom float64
}

func (b box) overlaps(c box) bool {
	const touch = 0.01
	return b.left < c.right-touch && c.left < b.right-touch && b.top < c.bottom-touch && c.top < b.bottom-touch
}

// boxes are the nodes and labels of a drawing.
func boxes(nodes []layout.Node, edges []layout.Edge, d layout.Drawing) (all []box) {
	for i, n := range nodes {
		at := d.Nodes[i]
		all = append(all, box{fmt.Sprint("node ", i), at.X - n.Width/2, at.X + n.Width/2, at.Y - n.Height/2, at.Y + n.Height/2})
	}
	for i, e := range edges {
		at := d.Paths[i].Label
		if e.Width > 0 {
			all = append(all, box{fmt.Sprint("label ", i), at.X, at.X + e.Width, at.Y - e.Height/2, at.Y + e.Height/2})
		}
	}
	return all
}

func TestNothingOverlapsAndAllIsInside(t *testing.T) {
	for seed := range uint64(40) {
		nodes, edges := graph(seed)
		d := layout.Draw(nodes, edges)
		all := boxes(nodes, edges, d)
		for i, a := range all {
			require.True(t, a.left >= -0.01 && a.right <= d.Width+0.01 && a.top >= -0.01 && a.bottom <= d.Height+0.01, "seed %d: %v is outside of %gx%g", seed, a, d.Width, d.Height)
			for _, b := range all[i+1:] {
				require.False(t, a.overlaps(b), "seed %d: %v and %v", seed, a, b)
			}
		}
		for i, e := range edges {
			points := d.Paths[i].Points
			ends := []layout.Point{points[0], points[len(points)-1]}
			for end, node := range []int{e.From, e.To} {
				require.LessOrEqual(t, math.Abs(ends[end].X-d.Nodes[node].X), nodes[node].Width/2+0.01, "seed %d: edge %d", seed, i)
				require.LessOrEqual(t, math.Abs(ends[end].Y-d.Nodes[node].Y), nodes[node].Height/2+0.01, "seed %d: edge %d", seed, i)
			}
		}
		clear(t, edges, d, all)
		require.Equal(t, d, layout.Draw(nodes, edges))
	}
}

// clear requires that an edge touches no box, except the boxes of its ends and its own label.
func clear(t *testing.T, edges []layout.Edge, d layout.Drawing, all []box) {
	t.Helper()
	for i, path := range d.Paths {
		own := map[string]bool{fmt.Sprint("label ", i): true, fmt.Sprint("node ", edges[i].From): true, fmt.Sprint("node ", edges[i].To): true}
		for n, to := range path.Points[1:] {
			from := path.Points[n]
			for step := 0.0; step <= 1; step += 1.0 / 64 {
				x, y := from.X+(to.X-from.X)*step, from.Y+(to.Y-from.Y)*step
				for _, b := range all {
					require.False(t, !own[b.name] && b.overlaps(box{"", x - 0.5, x + 0.5, y - 0.5, y + 0.5}), "edge %d passes %v at %g, %g", i, b, x, y)
				}
			}
		}
	}
}

// graph is a random one, with loops, parallel edges and edges from nodes to themselves.
func graph(seed uint64) (nodes []layout.Node, edges []layout.Edge) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range 1 + r.IntN(14) {
		nodes = append(nodes, layout.Node{Width: 40 + 100*r.Float64(), Height: 20 + 60*r.Float64()})
	}
	for range r.IntN(2 * len(nodes)) {
		e := layout.Edge{From: r.IntN(len(nodes)), To: r.IntN(len(nodes))}
		if r.IntN(4) > 0 {
			e.Width, e.Height = 20+80*r.Float64(), 30
		}
		edges = append(edges, e)
	}
	return nodes, edges
}

func TestEdgesPointDown(t *testing.T) {
	n := layout.Node{Width: 50, Height: 30}
	edges := []layout.Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}, {From: 0, To: 3}, {From: 3, To: 0}}
	d := layout.Draw([]layout.Node{n, n, n, n}, edges)
	for i, e := range edges[:5] {
		require.Less(t, d.Nodes[e.From].Y, d.Nodes[e.To].Y, i)
		require.Less(t, d.Paths[i].Points[0].Y, d.Paths[i].Points[len(d.Paths[i].Points)-1].Y)
	}
	up := d.Paths[5].Points
	require.Greater(t, up[0].Y, up[len(up)-1].Y, "the edge that closes the loop goes up")
	require.Equal(t, d.Nodes[1].Y, d.Nodes[2].Y)
}

func TestACrossingThatCanBeAvoidedIs(t *testing.T) {
	n := layout.Node{Width: 50, Height: 30}
	edges := []layout.Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 4}, {From: 2, To: 3}}
	d := layout.Draw([]layout.Node{n, n, n, n, n}, edges)
	require.Equal(t, d.Nodes[1].X < d.Nodes[2].X, d.Nodes[4].X < d.Nodes[3].X)
}

func TestAChainIsStraight(t *testing.T) {
	n := layout.Node{Width: 50, Height: 30}
	d := layout.Draw([]layout.Node{n, n, n}, []layout.Edge{{From: 0, To: 1, Width: 60, Height: 15}, {From: 1, To: 2, Width: 30, Height: 15}})
	for _, at := range d.Nodes {
		require.InDelta(t, d.Nodes[0].X, at.X, 0.01)
	}
	require.Empty(t, layout.Draw(nil, nil).Nodes)
}
