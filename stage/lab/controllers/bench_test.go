package controllers_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// BenchmarkRollOver rolls 1,000 Deployments of 10 replicas out on 200 nodes, and over to another
// template.
func BenchmarkRollOver(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		rollOver(b, 1000, 10)
	}
}

// BenchmarkOneDeployment does it with one Deployment. The statements that they execute are compared
// by make level.
func BenchmarkOneDeployment(b *testing.B) {
	for _, replicas := range []int{5_000, 10_000} {
		b.Run(fmt.Sprint(replicas), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rollOver(b, 1, replicas)
			}
		})
	}
}

// TestALargeDeploymentAllocatesNoMore: a Pod of a large Deployment costs at most 1.3 times as much
// as a Pod of a small one. The test compares allocations, because times vary.
func TestALargeDeploymentAllocatesNoMore(t *testing.T) {
	allocations := func(deployments, replicas int) (count, bytes float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rollOver(t, deployments, replicas)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	small, smallBytes := allocations(50, 10)
	large, largeBytes := allocations(1, 500)
	t.Log(large/small, "of the allocations,", largeBytes/smallBytes, "of the bytes")
	require.Less(t, large/small, 1.3)
	require.Less(t, largeBytes/smallBytes, 1.3)
}

// rollOver rolls Deployments out, and over to another template.
func rollOver(t testing.TB, deployments, replicas int) {
	c := clustertest.New(t, clustertest.Options{Nodes: 200, Pods: presets.PodGeneral})
	c.Load(strings.ReplaceAll(clustertest.Fleet(deployments), "replicas: 10", fmt.Sprint("replicas: ", replicas)))
	c.Advance(5 * time.Minute)
	for i := range deployments {
		c.Patch("Deployment", fmt.Sprintf("web-%04d", i), `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	}
	c.Advance(30 * time.Minute)
	require.Empty(t, c.Errors)
	require.Len(t, c.List("Pod", ""), deployments*replicas)
	for i := range deployments {
		c.RequireCurrent("Deployment", fmt.Sprintf("web-%04d", i))
	}
}

// replicaSet returns the ReplicaSet of a number, as YAML.
func replicaSet(i, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r%[1]d}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: r%[1]d}}
  template:
    metadata: {labels: {app: r%[1]d}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}
`, i, replicas)
}

// BenchmarkSchedule takes 20,000 Pods of 20 ReplicaSets through the scheduler and the general
// lifecycle on 1,000 nodes.
func BenchmarkSchedule(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := clustertest.New(b, clustertest.Options{Nodes: 1000, Pods: presets.PodGeneral, MinInterval: 100 * time.Millisecond})
		for i := range 20 {
			c.Load(replicaSet(i, 1000))
		}
		c.Advance(5 * time.Minute)
		require.Empty(b, c.Errors)
		for i := range 20 {
			c.RequireCurrent("ReplicaSet", fmt.Sprint("r", i))
		}
	}
}

// BenchmarkOwners has the same number of Pods in few large ReplicaSets and in many
// clustertest.SmallPod ones.
func BenchmarkOwners(b *testing.B) {
	const pods = 20_000
	for _, owners := range []int{20, 200, 1000} {
		b.Run(fmt.Sprint(owners), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := clustertest.New(b, clustertest.Options{Nodes: 200, Pods: presets.PodGeneral})
				for i := range owners {
					c.Load(replicaSet(i, pods/owners))
				}
				c.Advance(5 * time.Minute)
				require.Empty(b, c.Errors)
				for i := range owners {
					c.RequireCurrent("ReplicaSet", fmt.Sprint("r", i))
				}
			}
		})
	}
}

// BenchmarkLarge rolls 10 Deployments of 500 replicas out, and over to another template.
func BenchmarkLarge(b *testing.B) {
	for b.Loop() {
		rollOver(b, 10, 500)
	}
}
