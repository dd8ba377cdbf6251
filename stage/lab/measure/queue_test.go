package measure_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// work is a Pod that runs as long as its annotation says, from the moment at which it has a node,
// and then is gone.
const work = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: work}, spec: {
  resourceRef: {apiGroup: v1, kind: Pod}, selector: {},
  delay: {durationFrom: {jq: {expression: '.metadata.annotations["example.com/size"]'}}}, next: {delete: true}}}`

// queue lets n customers come to a node that has room for some of them. Customers that come when it
// is full wait for the scheduler.
func queue(t *testing.T, servers, n int, gap, size load.Distribution) record.Log {
	var log record.Log
	recorder := record.New(record.Options{Sink: log.Append})
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), stage.Parse("work.yaml", []byte(work))), simulation.Options{
		Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{})}, Filter: controllers.Bound, Trace: recorder.Trace,
	})
	require.NoError(t, err)
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	require.NoError(t, recorder.Follow(sim, pods))
	node := fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {pods: "%d"}}}`, servers)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(node)))
	sizes := load.MustNew(1, "sizes", size)
	load.Schedule(sim, load.MustNew(1, "gaps", gap).Arrivals(n), func(ctx context.Context, i int) error {
		pod := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"terminationGracePeriodSeconds": int64(0)},
			"metadata": map[string]any{"namespace": "default", "name": fmt.Sprint("p", i), "annotations": map[string]any{"example.com/size": sizes.Duration().String()}},
		}}
		_, err := sim.Cluster().Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	settled, err := sim.Settle(t.Context(), 1000*time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
	return log
}

// erlangC is the probability that a customer waits in M/M/c with an offered load a.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	term *= float64(c) / (float64(c) - a)
	return term / (sum + term)
}

// interval is the mean of a sequence and the half width of its 99 % confidence interval. It uses
// the means of 20 batches, because neighboring values are not independent.
func interval(values []float64) (mean, half float64) {
	const batches, t99 = 20, 2.861 // Student's t with 19 degrees of freedom
	var means []float64
	for b := range batches {
		part := values[b*len(values)/batches : (b+1)*len(values)/batches]
		means = append(means, measure.NewSample(part...).Mean())
	}
	s := measure.NewSample(means...)
	return s.Mean(), t99 * s.StdDev() / math.Sqrt(batches-1)
}

// TestQueuesAgreeWithTheory compares waiting times at the scheduler with those of M/M/1 and M/M/c,
// and with Little's law.
func TestQueuesAgreeWithTheory(t *testing.T) {
	const n, gap = 4000, 10.0
	for _, tc := range []struct {
		servers int
		size    float64
	}{{1, 5}, {1, 7}, {4, 28}} {
		t.Run(fmt.Sprintf("M/M/%d at %.0f%%", tc.servers, 100*tc.size/gap/float64(tc.servers)), func(t *testing.T) {
			log := queue(t, tc.servers, n, load.Exponential{Mean: gap}, load.Exponential{Mean: tc.size})
			a := tc.size / gap
			want := erlangC(tc.servers, a) * tc.size / (float64(tc.servers) - a)
			var waits []float64 // in the order of the arrivals, which is that of the turns
			for _, s := range measure.SchedulingLatency().Spans(log) {
				waits = append(waits, s.Duration().Seconds())
			}
			require.Len(t, waits, n)
			mean, half := interval(waits)
			t.Logf("waiting time %.3f ± %.3f s, in theory %.3f s", mean, half, want)
			require.InDelta(t, want, mean, half)
			require.Less(t, half, want/2, "the interval says something")
			little(t, log, n)
		})
	}
}

// little checks Little's law: the number of waiting customers is the rate of arrivals times the
// waiting time. This is exact for a run that begins and ends empty. It checks the same for all
// customers that are present.
func little(t *testing.T, log record.Log, n int) {
	all := measure.Between("stay", "Pod", nil, measure.In(record.Deleted)).Sample(log)
	length := log[len(log)-1].Time.Sub(log[0].Time).Seconds()
	rate := float64(n) / length
	require.InEpsilon(t, rate*measure.SchedulingLatency().Sample(log).Mean(), measure.PendingPods().Sample(log).Mean(), 1e-9)
	present := measure.OverTime("present", func(r record.Record) bool { return r.To != record.Deleted })
	require.InEpsilon(t, rate*all.Mean(), present.Sample(log).Mean(), 1e-9)
}
