package controllers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/requests"
)

// TestRankingsAgreeWithALookAtEveryNode lets nodes come, go, change and fill at random, and asks for classes in between, more of them than are kept.
func TestRankingsAgreeWithALookAtEveryNode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := &scheduler{nodes: map[string]*nodeRoom{}, rankings: rankings{byClass: map[string]*ranking{}}}
	for step := range 20_000 {
		n := s.room(fmt.Sprint("node-", random.IntN(12)))
		switch random.IntN(8) {
		case 0:
			n.see(nil)
		case 1, 2:
			n.see(randomNode(random))
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
		request := newPodRequest(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprint(cpu, "m")}}},
		}}}})
		got, err := s.rankings.best(&podClass{key: request.signature(), request: request}, s.nodes)
		want, unfit := scan(s.nodes, &request)
		require.Same(t, want, got, "step %d", step)
		if want == nil {
			require.Equal(t, unfit.(*unfitError).message(s.present()), err.(*unfitError).message(s.present()), "step %d", step)
		}
		require.LessOrEqual(t, len(s.rankings.byClass), maxRankings)
	}
}

// randomNode is ready, and now and then cordoned.
func randomNode(random *rand.Rand) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"unschedulable": random.IntN(4) == 0},
		"status": map[string]any{
			"allocatable": map[string]any{"cpu": fmt.Sprint(random.Int64N(5000), "m"), "memory": fmt.Sprint(random.Int64N(4 << 30)), "pods": fmt.Sprint(random.Int64N(8))},
			"conditions":  []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}}
}
