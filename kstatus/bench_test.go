package kstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// measured are objects of everyday, and one that takes the longest way.
var measured = map[string]string{
	"Deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 3}, spec: {replicas: 3, progressDeadlineSeconds: 600},
		status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [
  {type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.},
  {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet "web" has successfully progressed.}]}}`,
	"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, generation: 3}, spec: {replicas: 3},
		status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a}}`,
	"Pod ready": `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "True"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}],
		containerStatuses: [{name: app, ready: true, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]}}`,
	"Pod crash-looping": `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady}, {type: ContainersReady, status: "False"}, {type: PodScheduled, status: "True"}],
		containerStatuses: [{name: app, ready: false, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}}]}}`,
	"Ready condition": `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2}, status: {observedGeneration: 2, conditions: [
  {type: Synced, status: "True"}, {type: Ready, status: "True", reason: Available, message: all good}]}}`,
	"phase alone": `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2}, status: {phase: Running}}`,
	"ConfigMap":   `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: b}}`,
}

func BenchmarkCompute(b *testing.B) {
	for name, manifest := range measured {
		b.Run(name, func(b *testing.B) {
			obj := parse(b, manifest)
			b.ReportAllocs()
			for b.Loop() {
				kstatus.ComputeAt(obj, now)
			}
		})
	}
}

func BenchmarkMessage(b *testing.B) {
	r := kstatus.ComputeAt(parse(b, measured["Deployment"]), now)
	b.ReportAllocs()
	for b.Loop() {
		_ = r.Message()
	}
}

func TestComputingAllocatesNothing(t *testing.T) {
	for name, manifest := range measured {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, manifest)
			require.Zero(t, testing.AllocsPerRun(100, func() { kstatus.ComputeAt(obj, now) }))
		})
	}
}
