package queues_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/examples/simulator/queues"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var jobs = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// complete completes a Job that is not suspended after the time in its annotation.
const complete = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: complete}, spec: {resourceRef: {apiGroup: batch/v1, kind: Job},
  selector: {matchExpressions: [{jq: {key: .spec.suspend, operator: In, values: ["false"]}}, {jq: {key: .status, operator: DoesNotExist}}]},
  delay: {durationFrom: {jq: {expression: '.metadata.annotations.size'}}},
  steps: [{patch: {subresource: status, root: status, template: 'conditions: [{type: Complete, status: "True"}]'}}]}}`

// dispatch makes the first suspended Job run when no Job runs.
func dispatch(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var waiting []*unstructured.Unstructured
	for _, job := range r.Cache.List(jobs, "") {
		switch record.StateOf(job) {
		case record.Suspended:
			waiting = append(waiting, job)
		case record.Pending:
			return reconcile.Result{}, nil
		}
	}
	if len(waiting) == 0 {
		return reconcile.Result{}, nil
	}
	next := slices.MinFunc(waiting, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	_, err := r.Client.Patch(ctx, jobs, types.NamespacedName{Namespace: "default", Name: next.GetName()}, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	return reconcile.Result{}, err
}

// TestTheSameQueueOfJobs simulates M/M/1 twice: as a station, and as Jobs that a controller starts
// and a Stage completes, recorded and measured as any simulation is. Each customer waits as long, to
// the nanosecond.
func TestTheSameQueueOfJobs(t *testing.T) {
	const customers, seed = 300, 7
	var log record.Log
	recorder := record.New(record.Options{Sink: log.Append})
	sim, err := simulation.New(stage.MustCompile(stage.Parse("complete.yaml", []byte(complete))), simulation.Options{
		Trace: recorder.Trace, Controllers: []reconcile.Controller{{Name: "dispatcher", For: jobs, Reconcile: dispatch}},
	})
	require.NoError(t, err)
	require.NoError(t, recorder.Follow(sim, jobs))
	gaps, sizes := load.MustNew(seed, "gaps", load.Exponential{Mean: 1 / 0.8}), load.MustNew(seed, "sizes", load.Exponential{Mean: 1})
	load.Schedule(sim, gaps.Arrivals(customers), func(ctx context.Context, n int) error {
		job := `{apiVersion: batch/v1, kind: Job, metadata: {name: job-%03d, annotations: {size: %s}}, spec: {suspend: true}}`
		return sim.Cluster().Load(ctx, fmt.Appendf(nil, job, n, sizes.Duration()))
	})
	_, err = sim.Settle(t.Context(), 24*time.Hour)
	require.NoError(t, err)

	m, _ := queues.Named("M/M/1")
	waits, err := queues.Run{Model: m, Load: 0.8, Seed: seed, Customers: customers}.Waits(t.Context())
	require.NoError(t, err)
	waited := measure.TimeIn("Job.batch", record.Suspended).Sample(log)
	require.EqualValues(t, customers, waited.Count())
	require.InDelta(t, waits[0], waited.Mean(), 1e-9)
	require.Greater(t, waits[0], 1.0)
}
