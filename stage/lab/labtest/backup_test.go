package labtest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// everyKind has a workload of each kind whose controller keeps Pods.
const everyKind = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: web, resources: {requests: {cpu: 100m}}}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: db, volumeMounts: [{name: data, mountPath: /data}]}]}},
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}},
  spec: {containers: [{name: c, image: agent}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: long}, spec: {completions: 4, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c,
  image: job, command: [sleep, "300"]}]}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick}, spec: {schedule: "*/5 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never,
  containers: [{name: c, image: job, command: [sleep, "10"]}]}}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web},
  minReplicas: 2, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`

// lives says of each object what happened to it, without what depends on uids, on versions of the
// store, and on generated names: those of Pods, and what follows from them.
func lives(l *labtest.Lab) []string {
	var all []string
	for obj := range l.Cluster().All() {
		switch obj.GetKind() {
		case "Event", "Lease":
			continue
		}
		name := obj.GetName()
		if prefix := obj.GetGenerateName(); prefix != "" {
			name = prefix
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		var states []string
		for _, c := range conditions {
			m := c.(map[string]any)
			since := m["lastTransitionTime"]
			if obj.GetKind() == "HorizontalPodAutoscaler" { // its controller looks each 15 s from when it began
				since = ""
			}
			states = append(states, fmt.Sprint(m["type"], "=", m["status"], " ", m["reason"], " since ", since))
		}
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
		replicas, _, _ := unstructured.NestedInt64(obj.Object, "status", "replicas")
		containers, _, _ := unstructured.NestedSlice(obj.Object, "status", "containerStatuses")
		for _, c := range containers {
			m := c.(map[string]any)
			unstructured.RemoveNestedField(m, "state", "terminated", "containerID")
			states = append(states, fmt.Sprint(m["restartCount"], m["ready"], m["state"]))
		}
		all = append(all, fmt.Sprint(obj.GetKind(), " ", obj.GetNamespace(), "/", name, " ", obj.GetGeneration(), " ", phase, " ", node, " ", replicas, " ", strings.Join(states, "; ")))
	}
	slices.Sort(all)
	return all
}

// TestALabGoesOnFromABackup stops a lab in the middle of its work, brings its state over a file into
// another lab, and compares the next ten minutes of both.
func TestALabGoesOnFromABackup(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 3 * time.Second, time.Minute, 7 * time.Minute, time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			first := labtest.New(t, labtest.Options{Seed: 1, Quiet: true})
			first.Apply(everyKind)
			first.Advance(after)

			var file bytes.Buffer
			require.NoError(t, backup.Of(first.Cluster()).Write(&file))
			b, err := backup.Read("lab.jsonl", bytes.NewReader(file.Bytes()), backup.Options{})
			require.NoError(t, err)
			require.Empty(t, b.Omissions)
			second := labtest.New(t, labtest.Options{Seed: 1, Quiet: true, Backup: b})
			require.Equal(t, first.Now(), second.Now())

			for range 10 {
				first.Advance(time.Minute)
				second.Advance(time.Minute)
				require.Equal(t, lives(first), lives(second), "at %v", first.Now())
			}
		})
	}
}

// TestNothingHappensToAClusterAtRest restores a cluster in which nothing happens.
func TestNothingHappensToAClusterAtRest(t *testing.T) {
	first := labtest.New(t, labtest.Options{Quiet: true})
	first.Apply(strings.Split(everyKind, "---\n")[0], strings.Split(everyKind, "---\n")[1], strings.Split(everyKind, "---\n")[2])
	first.WaitCurrent()
	first.Advance(time.Hour)
	before := backup.Of(first.Cluster())
	second := labtest.New(t, labtest.Options{Backup: before})
	second.Advance(10 * time.Minute)
	require.Equal(t, first.Now().Add(10*time.Minute), second.Now())

	kept := map[string]*unstructured.Unstructured{}
	for _, obj := range before.Objects {
		kept[string(obj.GetUID())] = obj
	}
	for obj := range second.Cluster().All() {
		was := kept[string(obj.GetUID())]
		require.NotNil(t, was, "%s %s is new", obj.GetKind(), obj.GetName())
		delete(kept, string(obj.GetUID()))
		if obj.GetKind() != "Lease" && obj.GetKind() != "Node" { // heartbeats
			require.Equal(t, was.GetResourceVersion(), obj.GetResourceVersion(), "%s %s was written", obj.GetKind(), obj.GetName())
		}
	}
	for _, was := range kept {
		require.Equal(t, "Event", was.GetKind(), "%s is gone", was.GetName())
	}
}
