// Package kstatus holds package kstatus of stagecraft against that of sigs.k8s.io/cli-utils: the same verdicts on generated objects, and the
// time that both take.
package kstatus

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// A Sample is an object of everyday.
type Sample struct{ Name, Manifest string }

// Samples are what is measured.
var Samples = []Sample{
	{"Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 3}, spec: {replicas: 3, progressDeadlineSeconds: 600},
  status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [
  {type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.},
  {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet "web" has successfully progressed.}]}}`},
	{"StatefulSet", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, generation: 3}, spec: {replicas: 3},
  status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a}}`},
	{"Pod ready", `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "True"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}],
  containerStatuses: [{name: app, ready: true, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]}}`},
	{"Pod crash-looping", `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady}, {type: ContainersReady, status: "False"}, {type: PodScheduled, status: "True"}],
  containerStatuses: [{name: app, ready: false, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}}]}}`},
	{"Ready condition", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2}, status: {observedGeneration: 2, conditions: [
  {type: Synced, status: "True"}, {type: Ready, status: "True", reason: Available, message: all good}]}}`},
	{"phase alone", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2}, status: {phase: Running}}`},
	{"ConfigMap", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: b}}`},
}

// Object reads the sample as an API client would.
func (s Sample) Object() (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON([]byte(s.Manifest))
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, k8sjson.Unmarshal(data, &obj.Object)
}
