package kstatus

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A kind is the generator's knowledge of a kind: the fields that rules read, and the words that
// they look for.
type kind struct {
	apiVersion, name string
	numbers          []string // integers of the spec
	counts           []string // integers of the status
	texts            map[string][]string
	conditions       []string
	reasons          []string
}

// kindsToTry are kinds with the fields that their rules read; texts are at dotted paths.
var kindsToTry = []kind{
	{apiVersion: "v1", name: "ConfigMap"},
	{apiVersion: "v1", name: "Secret"},
	{apiVersion: "batch/v1", name: "CronJob"},
	{apiVersion: "policy/v1", name: "PodDisruptionBudget"},
	{apiVersion: "v1", name: "Service", texts: map[string][]string{"spec.type": {"LoadBalancer", "ClusterIP"}, "spec.clusterIP": {"10.0.0.1", "None", ""}}},
	{apiVersion: "v1", name: "PersistentVolumeClaim", texts: map[string][]string{"status.phase": {"Bound", "Pending", "Lost", "50%d"}}},
	{apiVersion: "v1", name: "Pod", texts: map[string][]string{"status.phase": {"Running", "Running", "Pending", "Pending", "Succeeded", "Failed", ""}},
		conditions: []string{"PodScheduled", "Ready"}, reasons: []string{"Unschedulable"}},
	{apiVersion: "apps/v1", name: "Deployment", numbers: []string{"replicas", "progressDeadlineSeconds"},
		counts:     []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"},
		conditions: []string{"Progressing", "Available"}, reasons: []string{"ProgressDeadlineExceeded", "NewReplicaSetAvailable"}},
	{apiVersion: "extensions/v1beta1", name: "Deployment", numbers: []string{"replicas"},
		counts: []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}, conditions: []string{"Available"}},
	{apiVersion: "apps/v1", name: "ReplicaSet", numbers: []string{"replicas"},
		counts: []string{"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"}, conditions: []string{"ReplicaFailure"}},
	{apiVersion: "extensions/v1beta1", name: "ReplicaSet", numbers: []string{"replicas"}, counts: []string{"fullyLabeledReplicas"}},
	{apiVersion: "apps/v1", name: "StatefulSet", numbers: []string{"replicas"},
		counts: []string{"replicas", "readyReplicas", "currentReplicas", "updatedReplicas"},
		texts: map[string][]string{"spec.updateStrategy.type": {"OnDelete", "RollingUpdate", "RollingUpdate"},
			"status.currentRevision": {"a", "b"}, "status.updateRevision": {"a", "b"}}},
	{apiVersion: "apps/v1", name: "DaemonSet",
		counts: []string{"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"}},
	{apiVersion: "extensions/v1beta1", name: "DaemonSet", counts: []string{"desiredNumberScheduled", "currentNumberScheduled"}},
	{apiVersion: "batch/v1", name: "Job", numbers: []string{"parallelism", "completions"}, counts: []string{"succeeded", "active", "failed"},
		texts: map[string][]string{"status.startTime": {"2026-01-01T00:00:00Z"}}, conditions: []string{"Complete", "Failed"}},
	{apiVersion: "apiextensions.k8s.io/v1", name: "CustomResourceDefinition", conditions: []string{"NamesAccepted", "Established"}, reasons: []string{"Installing"}},
	{apiVersion: "example.com/v1", name: "Widget", conditions: []string{"Ready", "Available"}},
	{apiVersion: "apps/v1/x", name: "Deployment", conditions: []string{"Ready"}},
	{apiVersion: "apps/v1", name: "Widget", conditions: []string{"Ready", "Synced"}},
	{apiVersion: "", name: ""},
}

// A dice makes objects from a seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 1))} }

func (d dice) chance(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// object makes a well-formed object. Its values can be nonsense.
func (d dice) object() *unstructured.Unstructured {
	k := pick(d, kindsToTry)
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.apiVersion, "kind": k.name, "metadata": map[string]any{"name": "x"}}}
	d.metadata(obj)
	level := int64(d.IntN(4))
	for _, field := range k.numbers {
		d.number(obj, level, "spec", field)
	}
	for _, field := range k.counts {
		d.number(obj, level, "status", field)
	}
	for path, words := range k.texts {
		if !d.chance(5) {
			set(obj, path, pick(d, words))
		}
	}
	if k.name == "StatefulSet" && d.chance(4) {
		set(obj, "spec.updateStrategy.rollingUpdate.partition", pick(d, []int64{-1, 0, 1, 5}))
	}
	if k.name == "Pod" && !d.chance(3) {
		set(obj, "status.containerStatuses", d.containers())
	}
	if !d.chance(4) {
		set(obj, "status.conditions", d.conditions(k))
	}
	return obj
}

// number sets a field near the level that the object as a whole is at, so that all counts agree
// often enough.
func (d dice) number(obj *unstructured.Unstructured, level int64, part, field string) {
	switch {
	case d.chance(12):
	case d.chance(12):
		set(obj, part+"."+field, pick(d, []int64{-1, 0, math.MaxInt32, level + 1, level - 1}))
	default:
		set(obj, part+"."+field, level)
	}
}

func (d dice) metadata(obj *unstructured.Unstructured) {
	if d.chance(12) {
		set(obj, "metadata.deletionTimestamp", pick(d, []string{"2026-01-01T00:00:00Z", ""}))
	}
	if !d.chance(5) {
		generation := int64(d.IntN(3))
		set(obj, "metadata.generation", generation)
		if d.chance(8) {
			generation += pick(d, []int64{-1, 1})
		}
		if !d.chance(4) {
			set(obj, "status.observedGeneration", generation)
		}
	}
	if d.chance(2) {
		created := pick(d, []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Hour)})
		set(obj, "metadata.creationTimestamp", created.UTC().Format(time.RFC3339))
	}
}

func (d dice) conditions(k kind) []any {
	types := append([]string{"Ready", "Synced"}, k.conditions...)
	types = append(types, k.conditions...)
	if d.chance(6) {
		types = append(types, "Reconciling", "Stalled")
	}
	reasons := append([]string{"", "Because", "100%s"}, k.reasons...)
	list := make([]any, 0, 4)
	for range d.IntN(5) {
		c := map[string]any{"type": pick(d, types), "status": pick(d, []string{"True", "True", "True", "False", "Unknown", "Odd"})}
		if !d.chance(4) {
			c["reason"] = pick(d, reasons)
		}
		if !d.chance(4) {
			c["message"] = pick(d, []string{"", "a message", "100% of %d"})
		}
		list = append(list, c)
	}
	return list
}

func (d dice) containers() []any {
	list := make([]any, 0, 3)
	for range d.IntN(4) {
		c := map[string]any{"ready": d.chance(2), "name": pick(d, []string{"app", "proxy", "%s"})}
		switch d.IntN(4) {
		case 0:
			c["state"] = map[string]any{"running": map[string]any{}}
		case 1:
			c["state"] = map[string]any{"waiting": map[string]any{}}
		case 2:
			c["state"] = map[string]any{"waiting": map[string]any{"reason": pick(d, []string{"CrashLoopBackOff", "ContainerCreating"})}}
		}
		list = append(list, c)
	}
	return list
}

// damage replaces or removes a field somewhere below.
func (d dice) damage(m map[string]any) {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		return
	}
	key := pick(d, keys)
	if d.chance(3) {
		m[key] = pick(d, []any{nil, "x", "", int64(1), true, []any{}, map[string]any{}, []any{"x"}, []any{nil}})
		return
	}
	switch v := m[key].(type) {
	case map[string]any:
		d.damage(v)
	case []any:
		d.damageItem(v)
	default:
		delete(m, key)
	}
}

func (d dice) damageItem(list []any) {
	if len(list) == 0 {
		return
	}
	if m, ok := pick(d, list).(map[string]any); ok {
		d.damage(m)
	}
}
