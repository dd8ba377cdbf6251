package controllers_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
)

// A work is something that a cluster does with n objects of a kind. What one of them costs must not
// depend on how many there are.
type work struct {
	name  string
	nodes int // 0: as many as objects
	play  func(c *clustertest.Cluster, n int)
}

// works are the kinds of work whose cost once was the square of their objects.
var works = []work{
	{"OneServiceAtOnce", 200, func(c *clustertest.Cluster, n int) {
		c.Load(service(0) + "---" + replicaSet(0, n))
		c.Advance(time.Minute)
		requireReady(c, n)
	}},
	{"OneServicePodsOneByOne", 200, func(c *clustertest.Cluster, n int) {
		c.Load(service(0))
		for i := range n {
			c.Load(labelledPod(fmt.Sprint("p", i), "r0"))
			c.Advance(time.Second)
		}
		requireReady(c, n)
	}},
	{"Services", 200, func(c *clustertest.Cluster, n int) {
		for i := range n / 10 {
			c.Load(service(i) + "---" + replicaSet(i, 10))
		}
		c.Advance(time.Minute)
		requireReady(c, n)
	}},
	{"ClaimsProvisioned", 200, func(c *clustertest.Cluster, n int) {
		c.Load(clustertest.Manifest("storageclass"))
		claims(c, n)
	}},
	{"ClaimsOfVolumes", 200, func(c *clustertest.Cluster, n int) {
		for i := range n {
			c.Load(fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v%d},
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}}`, i))
		}
		claims(c, n)
	}},
	{"Autoscalers", 200, func(c *clustertest.Cluster, n int) {
		for i := range n {
			c.Load(replicaSet(i, 1) + fmt.Sprintf(`---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: r%[1]d}, spec: {
  scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: r%[1]d}, minReplicas: 1, maxReplicas: 3}}`, i))
		}
		c.Advance(10 * time.Minute)
		requireReady(c, n)
	}},
	{"Budgets", 200, func(c *clustertest.Cluster, n int) {
		for i := range n / 10 {
			c.Load(budget(i) + "---" + replicaSet(i, 10))
		}
		c.Advance(time.Minute)
		requireReady(c, n)
	}},
	{"OneBudget", 200, func(c *clustertest.Cluster, n int) {
		c.Load(budget(0) + "---" + replicaSet(0, n))
		c.Advance(time.Minute)
		requireReady(c, n)
	}},
	{"OrderedStatefulSet", 200, func(c *clustertest.Cluster, n int) { statefulSet(c, n, "OrderedReady") }},
	{"ParallelStatefulSet", 200, func(c *clustertest.Cluster, n int) { statefulSet(c, n, "Parallel") }},
	{"DaemonSet", 0, func(c *clustertest.Cluster, n int) {
		c.Load(clustertest.Manifest("daemonset"))
		c.Advance(time.Minute)
		requireReady(c, n)
	}},
	{"IndexedJob", 200, func(c *clustertest.Cluster, n int) { job(c, n, n) }},
	{"IndexedJobInParts", 200, func(c *clustertest.Cluster, n int) { job(c, n, 100) }},
	{"ForegroundDeletion", 200, func(c *clustertest.Cluster, n int) {
		c.Load(replicaSet(0, n))
		c.Advance(time.Minute)
		requireReady(c, n)
		c.DeleteInForeground("ReplicaSet", "r0")
		c.Advance(time.Hour)
		requireReady(c, 0)
	}},
}

// nothing is what a cluster with the Nodes costs before its work.
var nothing = work{"Nothing", 200, func(*clustertest.Cluster, int) {}}

func service(i int) string {
	return fmt.Sprintf("\n{apiVersion: v1, kind: Service, metadata: {name: s%[1]d}, spec: {selector: {app: r%[1]d}, ports: [{port: 80}]}}\n", i)
}

func budget(i int) string {
	return fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b%[1]d}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: r%[1]d}}}
`, i)
}

func labelledPod(name, app string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}`, name, app)
}

// claims makes n claims of 1Gi, each with a Pod.
func claims(c *clustertest.Cluster, n int) {
	for i := range n {
		c.Load(fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c%[1]d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p%[1]d}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: c%[1]d}}]}}
`, i))
	}
	c.Advance(time.Hour)
	requireReady(c, n)
}

func statefulSet(c *clustertest.Cluster, n int, policy string) {
	c.Load(strings.NewReplacer("replicas: 3", fmt.Sprintf("replicas: %d\n  podManagementPolicy: %s", n, policy)).Replace(clustertest.Manifest("statefulset")))
	c.Advance(time.Minute)
	requireReady(c, n)
}

func job(c *clustertest.Cluster, n, parallelism int) {
	c.Load(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec: {completionMode: Indexed, completions: %d, parallelism: %d, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}`, n, parallelism))
	c.Advance(6 * time.Hour)
	c.Require(int64(n), c.Field("Job", "sums", "status", "succeeded"))
}

func requireReady(c *clustertest.Cluster, n int) {
	_, ready := c.CountPods()
	c.Require(n, ready)
}

func (w work) run(t testing.TB, n int) {
	c := clustertest.New(t, clustertest.Options{Nodes: cmp.Or(w.nodes, n)})
	w.play(c, n)
	require.Empty(t, c.Errors)
}

// BenchmarkGrowth reports the time of the processor for each object.
func BenchmarkGrowth(b *testing.B) {
	for _, w := range append(works, nothing) {
		for _, n := range []int{250, 500, 1000, 2000, 4000, 8000, 16000} {
			b.Run(fmt.Sprintf("%s/%d", w.name, n), func(b *testing.B) {
				start := processorTime()
				for b.Loop() {
					w.run(b, n)
				}
				b.ReportMetric(float64((processorTime()-start).Microseconds())/float64(b.N*n), "µs/object")
			})
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// most is how much more an object may cost if there are four times as many.
const most = 1.3

// TestWorkIsLevel compares what an object costs at two sizes, by what is allocated. A look at all objects
// that allocates nothing is found by TestStatementsAreLevel.
func TestWorkIsLevel(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	reads.Pause(t)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the lives of pools depend on it
	set := nothing.memory(t, 0)
	for _, w := range effort.Some(works) {
		t.Run(w.name, func(t *testing.T) {
			few, fewBytes := w.allocated(t, 100, set)
			many, manyBytes := w.allocated(t, 400, set)
			t.Logf("%.2f of the allocations, %.2f of the bytes", many/few, manyBytes/fewBytes)
			require.Less(t, many/few, most)
			require.Less(t, manyBytes/fewBytes, most)
		})
	}
}

// allocated is how often and how many bytes are allocated for an object; set is for the Nodes alone.
func (w work) allocated(t *testing.T, n int, set runtime.MemStats) (count, bytes float64) {
	if w.nodes == 0 {
		set = runtime.MemStats{}
	}
	m := w.memory(t, n)
	return float64(m.Mallocs-set.Mallocs) / float64(n), float64(m.TotalAlloc-set.TotalAlloc) / float64(n)
}

// memory is what is allocated for n objects.
func (w work) memory(t *testing.T, n int) runtime.MemStats {
	var start, end runtime.MemStats
	runtime.GC()
	runtime.GC() // pools have nothing left of other tests
	runtime.ReadMemStats(&start)
	w.run(t, n)
	runtime.ReadMemStats(&end)
	return runtime.MemStats{Mallocs: end.Mallocs - start.Mallocs, TotalAlloc: end.TotalAlloc - start.TotalAlloc}
}

// TestStatementsAreLevel compares how many statements an object costs at two sizes. It needs a test
// program that counts them, see make level, and runs it once for each.
func TestStatementsAreLevel(t *testing.T) {
	if testing.CoverMode() != "count" {
		t.Skip("make level counts statements")
	}
	for _, w := range works {
		t.Run(w.name, func(t *testing.T) {
			var set float64
			if w.nodes > 0 {
				set = nothing.statements(t, 250)
			}
			ratio := (w.statements(t, 1000) - set) / 1000 / ((w.statements(t, 250) - set) / 250)
			t.Logf("%.2f", ratio)
			require.Less(t, ratio, most)
		})
	}
}

// statements is how many statements are executed for n objects.
func (w work) statements(t *testing.T, n int) (sum float64) {
	profile := filepath.Join(t.TempDir(), "profile")
	program, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command(program, "-test.run", "^$", "-test.bench", fmt.Sprintf("^BenchmarkGrowth$/^%s$/^%d$", w.name, n),
		"-test.benchtime", "1x", "-test.coverprofile", profile).CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(profile)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var statements, count float64
		if f := strings.Fields(line); len(f) == 3 {
			_, err := fmt.Sscan(f[1]+" "+f[2], &statements, &count)
			require.NoError(t, err, line)
		}
		sum += statements * count
	}
	require.Positive(t, sum)
	return sum
}
