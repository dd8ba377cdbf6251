package wait_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Two Jobs: one is done, the other has failed for good, so that there is nothing more to wait for.
func ExampleFor() {
	ctx, cluster := context.Background(), memory.New(memory.Options{})
	err := cluster.Load(ctx, []byte(`
{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: migrate}, status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: import}, status: {failed: 6, conditions: [{type: Failed, status: "True"}]}}
`))
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	refs := []wait.Ref{{Kind: jobs, Namespace: "shop", Name: "migrate"}, {Kind: jobs, Namespace: "shop", Name: "import"}}
	err = errors.Join(err, wait.For(ctx, cluster, refs, wait.Policy{}))
	fmt.Println(err)
	var open *wait.Error
	if errors.As(err, &open) {
		fmt.Println(len(open.Open), open.Open[0].Ref.Name, open.Open[0].Result.Reason)
	}
	// Output:
	// 1 of 2 objects are not done: objects failed
	//   Job.batch shop/import: Failed, JobFailed: Job Failed. failed: 6/1
	// 1 import JobFailed
}

// Who wants another end than a Policy has, loops over the events. Here the first object that is
// there is enough.
func ExampleEvents() {
	ctx, cluster := context.Background(), memory.New(memory.Options{})
	err := cluster.Load(ctx, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: blue}}`))
	if err != nil {
		fmt.Println(err)
	}
	maps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	refs := []wait.Ref{{Kind: maps, Namespace: "shop", Name: "green"}, {Kind: maps, Namespace: "shop", Name: "blue"}}
	events, err := wait.Events(ctx, cluster, refs, wait.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for state := range events {
		if state.Result.Status != kstatus.NotFound {
			fmt.Println(state)
			break
		}
	}
	// Output:
	// ConfigMap shop/blue: Current: Resource is always ready
}

// A Job that runs for hours carries an annotation that says not to wait for it. Whether such
// annotations count is a matter of the rules.
func ExampleOptions_honorNoWait() {
	ctx, cluster := context.Background(), memory.New(memory.Options{})
	err := cluster.Load(ctx, []byte(`
{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: train, annotations: {stagecraft-go.github.io/wait: disabled}},
 status: {active: 1, startTime: "2026-01-01T00:00:00Z"}}
`))
	job := wait.Ref{Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Namespace: "shop", Name: "train"}
	policy := wait.Policy{
		Options: wait.Options{Rules: kstatus.Extended().HonorNoWait(true)},
		Observe: func(_ *wait.Collector, s wait.State) { fmt.Println(s) },
	}
	fmt.Println(errors.Join(err, wait.For(ctx, cluster, []wait.Ref{job}, policy)))
	// Output:
	// Job.batch shop/train: Current, NotWaitedFor: Annotation stagecraft-go.github.io/wait says not to wait
	// <nil>
}

// With a basis, an object that is Current by the words of its status alone is held for a time; what
// rests on a convention, or on a rule for the kind, counts at once. The summary names what holds the
// wait up.
func ExampleGoal_basis() {
	ctx, cluster := context.Background(), memory.New(memory.Options{})
	err := cluster.Load(ctx, []byte(`
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ovens.example.com}, spec: {group: example.com, scope: Namespaced,
 names: {kind: Oven, plural: ovens}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: example.com/v1, kind: Oven, metadata: {namespace: home, name: kitchen}, status: {phase: Running}}
`))
	oven := wait.Ref{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Oven"}, Namespace: "home", Name: "kitchen"}
	policy := wait.Policy{
		Goal:    wait.Goal{Basis: kstatus.BasisConvention, HoldOn: 10 * time.Millisecond},
		Observe: func(c *wait.Collector, s wait.State) { fmt.Println(c.Summary(s.Time)) },
	}
	fmt.Println(errors.Join(err, wait.For(ctx, cluster, []wait.Ref{oven}, policy)))
	// Output:
	// held up by Oven.example.com home/kitchen: Current (held, it rests on Words): phase is Running
	// 0 of 1 done, 1 current
	// 1 of 1 done
	// <nil>
}
