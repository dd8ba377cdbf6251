package controllers_test

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const template = `template: {metadata: {labels: {app: a}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`

// owners ask for more Pods than any memory holds.
var owners = map[string]struct {
	controller func() reconcile.Controller
	manifest   string
	pods       int // without a scheduler
}{
	"StatefulSet": {workloads.StatefulSets, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: default},
  spec: {replicas: 2147483647, selector: {matchLabels: {app: a}}, ` + template, 1},
	"a parallel StatefulSet": {workloads.StatefulSets, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: default},
  spec: {replicas: 2147483647, podManagementPolicy: Parallel, selector: {matchLabels: {app: a}}, ` + template, 10_000},
	"a StatefulSet with a start": {workloads.StatefulSets, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: default},
  spec: {replicas: 2147483647, ordinals: {start: 2147483640}, selector: {matchLabels: {app: a}}, ` + template, 1},
	"ReplicaSet": {workloads.ReplicaSets, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, namespace: default},
  spec: {replicas: 2147483647, selector: {matchLabels: {app: a}}, ` + template, 10_000},
	"Job": {batch.Jobs, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default},
  spec: {parallelism: 2147483647, completions: 2147483647, ` + template, 10_000},
	"an indexed Job": {batch.Jobs, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default},
  spec: {completionMode: Indexed, parallelism: 2147483647, completions: 2147483647, ` + template, 10_000},
	"a Job that succeeded": {batch.Jobs, `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default},
  status: {completedIndexes: 0-2147483645},
  spec: {completionMode: Indexed, parallelism: 5, completions: 2147483647, successPolicy: {rules: [{succeededIndexes: 0-2147483646}]}, ` + template, 1},
}

// No controller allocates by a number in a spec, or goes through all numbers below it.
func TestNumbersInASpecNeedNoMemory(t *testing.T) {
	large := slices.Sorted(maps.Keys(owners))
	large = slices.DeleteFunc(large, func(name string) bool { return owners[name].pods == 1 })
	for name, owner := range owners {
		if owner.pods > 1 && (race.On || !slices.Contains(effort.Some(large), name)) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var failed []string
			sim, err := simulation.New(stage.MustCompile(presets.NodeFast()), simulation.Options{
				Controllers: []reconcile.Controller{owner.controller()},
				Reconcile: reconcile.Options{Trace: func(e reconcile.TraceEvent) {
					if e.Err != nil {
						failed = append(failed, e.String())
					}
				}},
			})
			require.NoError(t, err)
			require.NoError(t, sim.Cluster().Load(context.Background(), []byte(owner.manifest)))
			before := allocated()
			require.NoError(t, sim.Advance(context.Background(), 0))
			// An object costs some 20 KB until it is stored.
			require.Less(t, allocated()-before, uint64(2<<20+owner.pods*100_000))
			got, err := sim.Cluster().List(context.Background(), clustertest.Kind("Pod"), "", metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, got.Items, owner.pods)
			if owner.pods > 1 {
				require.NotEmpty(t, failed)
				require.Contains(t, failed[0], "asks for more Pods: one owner has at most 150000 Pods, of which at most 10000 wait for a Node")
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A CronJob whose status says that its last Job was in the year 1 has missed a thousand million times.
func TestACronJobThatMissedVeryManyTimes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: default}, status: {lastScheduleTime: "0001-01-01T00:00:00Z"},
  spec: {schedule: "* * * * *", jobTemplate: {spec: {` + template + `}}`)
	begin := time.Now()
	c.Advance(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
	require.Len(t, c.List("Job", ""), 1)
}
