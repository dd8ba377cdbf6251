// Package kstatus compares package kstatus of stagecraft with the package in sigs.k8s.io/cli-utils:
// their results for generated objects, and the time that both take.
package kstatus

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// A Sample is a typical object.
type Sample struct{ Name, Manifest string }

// lookups are the fields that decide the status of a sample. Every correct implementation has to
// look at each of them, so their cost alone is a lower bound.
var lookups = map[string]string{
	"Deployment": "spec.replicas status.replicas status.updatedReplicas status.readyReplicas status.availableReplicas " +
		"metadata.generation status.conditions.0.type status.conditions.0.status status.conditions.1.type status.conditions.1.status " +
		"status.conditions.1.reason",
	"StatefulSet": "spec.updateStrategy spec.replicas status.replicas status.readyReplicas status.currentReplicas status.currentRevision " +
		"status.updateRevision metadata.generation",
	"Pod ready": "status.phase status.conditions.0.type status.conditions.0.status status.conditions.1.type status.conditions.1.status " +
		"status.conditions.2.type status.conditions.2.status status.conditions.3.type status.conditions.3.status",
	"Pod crash-looping": "status.phase status.conditions.0.type status.conditions.0.status status.conditions.1.type status.conditions.1.status " +
		"status.conditions.2.type status.conditions.2.status status.conditions.3.type status.conditions.3.status status.containerStatuses " +
		"status.containerStatuses.0.name status.containerStatuses.0.state status.containerStatuses.0.state.waiting " +
		"status.containerStatuses.0.state.waiting.reason",
	"Ready condition": "metadata.generation status.conditions.0.type status.conditions.0.status status.conditions.1.type status.conditions.1.status " +
		"status.conditions.1.reason",
	"phase alone": "",
	"ConfigMap":   "",
}

// A Lookup is a map and a key that it may have.
type Lookup struct {
	In  map[string]any
	Key string
}

// Lookups returns the look-ups that every correct implementation needs. For every object these are
// the kind, the deletion timestamp and, if the object has a status, the observed generation and the
// conditions. For this sample it adds the look-ups in lookups.
func (s Sample) Lookups(obj *unstructured.Unstructured) (all []Lookup) {
	paths := "apiVersion kind metadata status metadata.deletionTimestamp "
	if obj.Object["status"] != nil {
		paths += "status.observedGeneration status.conditions "
	}
	if strings.Contains(lookups[s.Name], "spec.") {
		paths += "spec "
	}
	for path := range strings.FieldsSeq(paths + lookups[s.Name]) {
		all = append(all, lookup(obj.Object, path))
	}
	return all
}

func lookup(in map[string]any, path string) Lookup {
	var at any = in
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, _ := strconv.Atoi(step)
			at = v[i]
		}
	}
	return Lookup{at.(map[string]any), steps[len(steps)-1]}
}

// Samples are the objects that are measured.
var Samples = []Sample{
	{"Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, generation: 3},
  spec: {replicas: 3, progressDeadlineSeconds: 600},
  status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: [
  {type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.},
  {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet "web" has successfully progressed.}]}}`},
	{"StatefulSet", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, generation: 3}, spec: {replicas: 3},
  status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a}}`},
	{"Pod ready", `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "True"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}],
  containerStatuses: [{name: app, ready: true, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]}}`},
	{"Pod crash-looping", `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop},
  spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [
  {type: Initialized, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady}, {type: ContainersReady, status: "False"}, {type: PodScheduled, status: "True"}],
  containerStatuses: [{name: app, ready: false, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}}]}}`},
	{"Ready condition", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop, generation: 2},
  status: {observedGeneration: 2, conditions: [
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
