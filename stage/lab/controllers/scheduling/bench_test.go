package scheduling_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// BenchmarkTenThousandPods schedules 10,000 Pods of one Service on 1,200 Nodes in three zones, with
// the default profile. It may take 10 s of CPU; the metric says how many it took.
func BenchmarkTenThousandPods(b *testing.B) {
	for b.Loop() {
		sim, err := simulation.New(stage.MustCompile(), simulation.Options{
			Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{})},
		})
		require.NoError(b, err)
		require.NoError(b, sim.Cluster().Load(b.Context(), []byte(podsOfOneService(10_000))))
		before := cpuSeconds(b)
		require.NoError(b, sim.Advance(b.Context(), time.Minute))
		b.ReportMetric(cpuSeconds(b)-before, "cpu-s")
		for _, name := range []string{"pod-0", "pod-9999"} {
			require.NotEmpty(b, nodeOf(b, sim, name))
		}
	}
}

func nodeOf(b *testing.B, sim *simulation.Simulation, pod string) string {
	p, err := sim.Cluster().Get(b.Context(), podKind, types.NamespacedName{Namespace: "default", Name: pod})
	require.NoError(b, err)
	node, _, _ := unstructured.NestedString(p.Object, "spec", "nodeName")
	return node
}

func cpuSeconds(b *testing.B) float64 {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return (time.Duration(used.Utime.Nano()) + time.Duration(used.Stime.Nano())).Seconds()
}

// podsOfOneService are on 1,200 Nodes in three zones.
func podsOfOneService(pods int) string {
	var text strings.Builder
	text.WriteString("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}\n")
	for i := range 1200 {
		fmt.Fprintf(&text, `---
{apiVersion: v1, kind: Node, metadata: {name: node-%d, labels: {kubernetes.io/hostname: node-%d, topology.kubernetes.io/zone: zone-%d}},
  status: {allocatable: {cpu: "32", memory: 64Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}}
`, i, i, i%3)
	}
	for i := range pods {
		fmt.Fprintf(&text, `---
{apiVersion: v1, kind: Pod, metadata: {name: pod-%d, labels: {app: web}},
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 500m, memory: 512Mi}}}]}}
`, i)
	}
	return text.String()
}
