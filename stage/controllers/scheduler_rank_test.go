package controllers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/requests"
)

// scan looks at every node: what a ranking must agree with.
func scan(nodes map[string]*nodeRoom, r *podRequest) (best *nodeRoom, unfit unfitError) {
	unfit.reasons = map[string]int{}
	for _, n := range nodes {
		if !n.there {
			continue
		}
		reasons, final := inTheWay(n, r)
		unfit.count(&place{reasons: reasons, final: final}, 1)
		if len(reasons) > 0 {
			continue
		}
		if best == nil || n.score(r) > best.score(r) || n.score(r) == best.score(r) && n.name < best.name {
			best = n
		}
	}
	return best, unfit
}

// TestRankingsAgreeWithALookAtEveryNode lets nodes come, go, change and fill at random, and asks for classes in between, more of them than are kept.
func TestRankingsAgreeWithALookAtEveryNode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := &scheduler{nodes: map[string]*nodeRoom{}, rankings: rankings{byClass: map[string]*ranking{}}}
	for step := range 20_000 {
		n := s.room(fmt.Sprint("node-", random.IntN(12)))
		switch random.IntN(8) {
		case 0:
			n.there = false
		case 1, 2:
			n.there, n.cordoned = true, random.IntN(4) == 0
			n.allocatable = requests.Amounts{"cpu": random.Int64N(5000), "memory": random.Int64N(4 << 30), "pods": random.Int64N(8)}
		case 3:
			if n.pods > 0 {
				n.release(requests.Amounts{"cpu": n.used["cpu"] / n.pods})
			}
		case 4, 5:
			n.take(requests.Amounts{"cpu": 300})
		default: // no change
		}
		s.changed(n)
		if random.IntN(3) > 0 {
			continue
		}
		cpu := random.Int64N(2)*500 + random.Int64N(maxRankings)
		class := &podClass{key: fmt.Sprint(cpu), request: podRequest{resources: requests.Amounts{"cpu": cpu}}}
		got, err := s.rankings.of(class, s.nodes).best()
		want, unfit := scan(s.nodes, &class.request)
		require.Same(t, want, got, "step %d", step)
		if want == nil {
			require.Equal(t, unfit.message(s.present()), err.(*unfitError).message(s.present()), "step %d", step)
		}
		require.LessOrEqual(t, len(s.rankings.byClass), maxRankings)
	}
}
