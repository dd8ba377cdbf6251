package measure_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/runtime"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var jobs = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// complete are Stages that complete a Job, unless it is suspended, after a time given by its size.
const complete = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: complete}, spec: {resourceRef: {apiGroup: batch/v1, kind: Job},
  selector: {matchExpressions: [{jq: {key: .spec.suspend, operator: In, values: ["false"]}}, {jq: {key: .status, operator: DoesNotExist}}]},
  delay: {durationFrom: {jq: {expression: '.metadata.annotations.size'}}},
  steps: [{patch: {subresource: status, root: status, template: 'conditions: [{type: Complete, status: "True"}]'}}]}}`

// dispatcher lets one suspended Job run after another: the first one by a policy.
func dispatcher(policy func(a, b *unstructured.Unstructured) int) reconcile.Controller {
	return reconcile.Controller{Name: "dispatcher", For: jobs, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		byState := map[string][]*unstructured.Unstructured{}
		for _, job := range r.Cache.List(jobs, "") {
			byState[record.StateOf(job)] = append(byState[record.StateOf(job)], job)
		}
		waiting := byState[record.Suspended]
		if len(waiting) == 0 || len(byState[record.Pending]) > 0 {
			return reconcile.Result{}, nil
		}
		next := types.NamespacedName{Namespace: "default", Name: slices.MinFunc(waiting, policy).GetName()}
		_, err := r.Client.Patch(ctx, jobs, next, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
		return reconcile.Result{}, err
	}}
}

// submit runs 500 Jobs of random sizes under a policy.
func submit(policy func(a, b *unstructured.Unstructured) int) (log record.Log) {
	recorder := record.New(record.Options{Sink: log.Append})
	o := simulation.Options{Trace: recorder.Trace, Controllers: []reconcile.Controller{dispatcher(policy)}}
	sim, err := simulation.New(stage.MustCompile(stage.Parse("complete.yaml", []byte(complete))), o)
	runtime.Must(err)
	runtime.Must(recorder.Follow(sim, jobs))
	sizes := load.MustNew(1, "sizes", load.Weibull{Shape: 0.7, Scale: 35})
	load.Schedule(sim, load.MustNew(1, "gaps", load.Exponential{Mean: 50}).Arrivals(500), func(ctx context.Context, n int) error {
		job := `{apiVersion: batch/v1, kind: Job, metadata: {name: job-%03d, annotations: {size: %s}}, spec: {suspend: true}}`
		return sim.Cluster().Load(ctx, fmt.Appendf(nil, job, n, sizes.Duration()))
	})
	_, err = sim.Settle(context.Background(), 24*time.Hour)
	runtime.Must(err)
	return log
}

// Your own policy, shortest job first, compared with first come, first served.
func Example_policy() {
	fifo := submit(func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	sjf := submit(func(a, b *unstructured.Unstructured) int { return cmp.Compare(size(a), size(b)) })
	c := measure.Compare(fifo, sjf, measure.ResponseTime())[0]
	fmt.Printf("mean %.0fs → %.0fs, p99 %.0fs → %.0fs\n", c.A.Mean, c.B.Mean, c.A.P99, c.B.P99)
	// Output: mean 298s → 141s, p99 1271s → 1068s
}

func size(job *unstructured.Unstructured) time.Duration {
	d, _ := time.ParseDuration(job.GetAnnotations()["size"])
	return d
}
