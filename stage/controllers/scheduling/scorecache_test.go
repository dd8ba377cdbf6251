package scheduling

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
)

// TestTheScoreCacheAgreesWithALookAtEveryNode lets Nodes come, go, change and fill at random, and
// asks for classes in between, more of them than are kept.
func TestTheScoreCacheAgreesWithALookAtEveryNode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newScheduler("")
	for step := range 20_000 {
		n := s.node(fmt.Sprint("node-", random.IntN(12)))
		switch random.IntN(8) {
		case 0:
			n.setNode(nil)
		case 1, 2:
			n.setNode(randomNode(random))
		case 3:
			if n.Pods > 0 {
				n.add(resources.Amounts{"cpu": n.Requested["cpu"] / n.Pods}, -1)
			}
		case 4, 5:
			n.add(resources.Amounts{"cpu": 300}, 1)
		default: // no change
		}
		s.changed(n)
		if random.IntN(3) > 0 {
			continue
		}
		pod := podRequesting(random.Int64N(2)*500 + random.Int64N(maxScoredClasses))
		got, err := s.scores.best(&podClass{signature: pod.signature(), pod: pod}, s.nodes)
		want, unfit := bestOf(s.nodes, pod)
		require.Same(t, want, got, "step %d", step)
		if want == nil {
			require.Equal(t, unfit.(*fitError).message(s.nodeCount()), err.(*fitError).message(s.nodeCount()), "step %d", step)
		}
		require.LessOrEqual(t, len(s.scores.bySignature), maxScoredClasses)
	}
}

func podRequesting(milliCPU int64) *PodInfo {
	requests := map[string]any{"cpu": fmt.Sprint(milliCPU, "m")}
	container := map[string]any{"resources": map[string]any{"requests": requests}}
	return NewPodInfo(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"containers": []any{container}}}})
}

// randomNode is ready, and now and then cordoned.
func randomNode(random *rand.Rand) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"unschedulable": random.IntN(4) == 0},
		"status": map[string]any{
			"allocatable": map[string]any{
				"cpu":    fmt.Sprint(random.Int64N(5000), "m"),
				"memory": fmt.Sprint(random.Int64N(4 << 30)),
				"pods":   fmt.Sprint(random.Int64N(8)),
			},
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}}
}
