package scheduling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// stranger is a plugin of another package. With it, the scheduler looks at each Pod.
type stranger struct{}

func (stranger) Name() string { return "Stranger" }

// crowd plays a cluster in which more Pods arrive than there is room for, and returns all decisions.
func crowd(t testing.TB, seed uint64, nodes, pods int, plugins ...scheduling.Plugin) (decisions []string) {
	r := rand.New(rand.NewPCG(seed, 5))
	profile := scheduling.DefaultProfile()
	profile.Plugins = append(profile.Plugins, plugins...)
	sim, err := simulation.New(stage.MustCompile(presets.PodFast(), presets.NodeFast()), simulation.Options{
		Seed: seed, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Filter: controllers.Bound,
		Controllers: controllers.All(controllers.Options{Scheduling: scheduling.Options{Profile: &profile, Trace: func(d scheduling.Decision) {
			d.Scores = nil // two plugins more would have no scores either
			decisions = append(decisions, fmt.Sprintf("%+v", d))
		}}}),
	})
	require.NoError(t, err)
	defer sim.Close()
	load := func(format string, args ...any) {
		require.NoError(t, sim.Cluster().Load(context.Background(), fmt.Appendf(nil, format, args...)))
	}
	for i := range nodes + r.IntN(5) {
		load(`{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {topology.kubernetes.io/zone: z%d}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}`, i, i%2)
	}
	load(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}`)
	for i := range pods {
		load(`{apiVersion: v1, kind: Pod, metadata: {name: p%d, labels: {app: a%d}}, spec: {%s containers: [{name: c, image: i, resources: {requests: {cpu: %dm}}}]}}`,
			i, r.IntN(2), crowdSpecs[r.IntN(len(crowdSpecs))], 500*(1+r.IntN(4)))
		require.NoError(t, sim.Advance(context.Background(), time.Duration(r.IntN(2000))*time.Millisecond))
		crowdChange(t, sim, r, i)
	}
	require.NoError(t, sim.Advance(context.Background(), 20*time.Minute))
	return decisions
}

// crowdSpecs begin the spec of a Pod: most are alike.
var crowdSpecs = []string{
	"", "", "", "", "priorityClassName: high,", "nodeSelector: {topology.kubernetes.io/zone: z1},",
	"topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a1}}}],",
	"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: a0}}}]}},",
}

// crowdChange deletes a Pod, or cordons a Node.
func crowdChange(t testing.TB, sim *simulation.Simulation, r *rand.Rand, i int) {
	ctx := context.Background()
	switch r.IntN(4) {
	case 0:
		_ = sim.Cluster().Delete(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("p", r.IntN(i+1))}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}) // it may be gone
	case 1:
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, r.IntN(3) == 0)
		_, err := sim.Cluster().Patch(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Node"}, types.NamespacedName{Name: "n0"}, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
}

// TestPodsThatAreAlikeFailAlike compares the decisions with those of a scheduler that looks at each Pod.
func TestPodsThatAreAlikeFailAlike(t *testing.T) {
	for seed := range uint64(20) {
		require.Equal(t, crowd(t, seed, 4, 60, stranger{}), crowd(t, seed, 4, 60), "seed %d", seed)
	}
}

// BenchmarkCrowd has more Pods than there is room for on 100 Nodes, with and without a look at each of
// them.
func BenchmarkCrowd(b *testing.B) {
	for name, plugins := range map[string][]scheduling.Plugin{"alike": nil, "each": {stranger{}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				crowd(b, 1, 100, 1000, plugins...)
			}
		})
	}
}
