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

// A generator makes random Deployments, most of them rolled out.
type generator struct{ *rand.Rand }

// odd returns the usual value in eleven of twelve cases, otherwise another one.
func (g generator) odd(usual any, others ...any) any {
	if g.IntN(12) > 0 {
		return usual
	}
	return others[g.IntN(len(others))]
}

func (g generator) number() any { return g.odd(int64(3), nil, int64(0), int64(2), int64(4), 3.0, "3") }

// fields removes some of the fields that are null.
func (g generator) fields(m map[string]any) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] == nil && g.IntN(2) == 0 {
			delete(m, name)
		}
	}
	return m
}

func (g generator) condition(kind any, reason string) any {
	return g.odd(any(g.fields(map[string]any{
		"type":   g.odd(kind, nil, "", "Ready", "Stalled", "Reconciling", "Available", "Progressing", true),
		"status": g.odd("True", nil, "", "False", "Unknown", true, int64(1)),
		"reason": g.odd(reason, nil, "ProgressDeadlineExceeded", "NewReplicaSetAvailable", "Other", int64(1)),
	})), nil, "none", map[string]any{}, map[string]string{"type": "Available", "status": "True"})
}

func (g generator) deployment() *unstructured.Unstructured {
	conditions := []any{
		g.condition("Available", "MinimumReplicasAvailable"),
		g.condition("Progressing", "NewReplicaSetAvailable"),
		g.condition("ReplicaFailure", "None"),
	}
	return &unstructured.Unstructured{Object: g.fields(map[string]any{
		"apiVersion": g.odd("apps/v1", "extensions/v1beta1", "apps/v1beta1", nil),
		"kind":       g.odd("Deployment", "ReplicaSet", nil),
		"metadata": g.odd(g.fields(map[string]any{
			"generation": g.number(), "deletionTimestamp": g.odd(nil, "2026-01-01T00:00:00Z", ""),
		}), nil, "none"),
		"spec": g.odd(g.fields(map[string]any{
			"replicas": g.number(), "progressDeadlineSeconds": g.odd(nil, int64(600), int64(1<<31-1)),
		}), nil, []any{}),
		"status": g.odd(g.fields(map[string]any{
			"observedGeneration": g.number(), "replicas": g.number(), "updatedReplicas": g.number(),
			"readyReplicas": g.number(), "availableReplicas": g.number(),
			"conditions": g.odd(any(conditions[:g.IntN(4)]), nil, "none", []map[string]any{{"type": "Available", "status": "True"}}),
		}), nil, int64(1)),
	})}
}

func TestComputeAgreesWithExplain(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	seen := map[kstatus.Status]int{}
	for range 50_000 {
		obj := g.deployment()
		got, want := kstatus.Standard().Compute(obj, now), kstatus.Standard().Explain(obj, now).Result
		if got != want { // require.Equal takes long, even if they are equal
			require.Equal(t, want, got, obj)
		}
		seen[got.Status]++
	}
	for _, s := range []kstatus.Status{kstatus.Current, kstatus.InProgress, kstatus.Failed, kstatus.Terminating, kstatus.Unknown} {
		require.Greater(t, seen[s], 100, s)
	}
}

func TestRulesOfTheCallerComeBeforeThoseOfTheProfile(t *testing.T) {
	mine := func(kstatus.Object) (kstatus.Result, bool) { return kstatus.Failed.Because("Mine", ""), true }
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "apps", Kind: "Deployment"}: mine})
	obj := measured(t)["Deployment"]
	require.Equal(t, kstatus.Failed, rules.Compute(obj, now).Status)
	require.Equal(t, kstatus.Current, kstatus.Standard().Compute(obj, now).Status)
	require.Equal(t, "", kstatus.Standard().Generic().Compute(obj, now).Reason)
	require.Equal(t, "Resource is current", kstatus.Standard().Generic().Compute(obj, now).Message())
}
