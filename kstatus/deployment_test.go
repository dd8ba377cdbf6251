package kstatus_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A dice makes Deployments that are steady, or nearly.
type dice struct{ *rand.Rand }

// odd is the usual value most of the time, else another one.
func (d dice) odd(usual any, others ...any) any {
	if d.IntN(12) > 0 {
		return usual
	}
	return others[d.IntN(len(others))]
}

func (d dice) number() any { return d.odd(int64(3), nil, int64(0), int64(2), int64(4), 3.0, "3") }

// fields leaves some fields without a value out; the others are null.
func (d dice) fields(m map[string]any) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] == nil && d.IntN(2) == 0 {
			delete(m, name)
		}
	}
	return m
}

func (d dice) condition(kind any, reason string) any {
	return d.odd(any(d.fields(map[string]any{
		"type":   d.odd(kind, nil, "", "Ready", "Stalled", "Reconciling", "Available", "Progressing", true),
		"status": d.odd("True", nil, "", "False", "Unknown", true, int64(1)),
		"reason": d.odd(reason, nil, "ProgressDeadlineExceeded", "NewReplicaSetAvailable", "Other", int64(1)),
	})), nil, "none", map[string]any{}, map[string]string{"type": "Available", "status": "True"})
}

func (d dice) deployment() *unstructured.Unstructured {
	conditions := []any{
		d.condition("Available", "MinimumReplicasAvailable"),
		d.condition("Progressing", "NewReplicaSetAvailable"),
		d.condition("ReplicaFailure", "None"),
	}
	return &unstructured.Unstructured{Object: d.fields(map[string]any{
		"apiVersion": d.odd("apps/v1", "extensions/v1beta1", "apps/v1beta1", nil),
		"kind":       d.odd("Deployment", "ReplicaSet", nil),
		"metadata": d.odd(d.fields(map[string]any{
			"generation": d.number(), "deletionTimestamp": d.odd(nil, "2026-01-01T00:00:00Z", ""),
		}), nil, "none"),
		"spec": d.odd(d.fields(map[string]any{"replicas": d.number(), "progressDeadlineSeconds": d.odd(nil, int64(600), int64(1<<31-1))}), nil, []any{}),
		"status": d.odd(d.fields(map[string]any{
			"observedGeneration": d.number(), "replicas": d.number(), "updatedReplicas": d.number(), "readyReplicas": d.number(), "availableReplicas": d.number(),
			"conditions": d.odd(any(conditions[:d.IntN(4)]), nil, "none", []map[string]any{{"type": "Available", "status": "True"}}),
		}), nil, int64(1)),
	})}
}

// Deployments that are steady take a shorter way, explanations never do.
func TestSteadyDeploymentsAreJudgedByTheRules(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	seen := map[kstatus.Status]int{}
	for range 50_000 {
		obj := d.deployment()
		got, want := kstatus.ComputeAt(obj, now), kstatus.Standard().Explain(obj, now).Result
		if got != want { // require.Equal takes long, even if they are equal
			require.Equal(t, want, got, obj)
		}
		seen[got.Status]++
	}
	for _, s := range []kstatus.Status{kstatus.Current, kstatus.InProgress, kstatus.Failed, kstatus.Terminating, kstatus.Unknown} {
		require.Greater(t, seen[s], 100, s)
	}
}

func TestSteadyDeploymentsAreJudgedByRulesOfTheCaller(t *testing.T) {
	mine := func(kstatus.Object) (kstatus.Result, bool) { return kstatus.Failed.Because("Mine", ""), true }
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "apps", Kind: "Deployment"}: mine})
	obj := parse(t, measured["Deployment"])
	require.Equal(t, kstatus.Failed, rules.Compute(obj, now).Status)
	require.Equal(t, kstatus.Current, kstatus.ComputeAt(obj, now).Status)
	require.Equal(t, "", kstatus.Standard().Generic().Compute(obj, now).Reason)
	require.Equal(t, "Resource is current", kstatus.Standard().Generic().Compute(obj, now).Message())
}
