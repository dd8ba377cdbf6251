package stagetest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

// The manifests have the defaults of an API server, as objects have that a test reads back before
// it makes them ready by hand.
var manifests = map[string]string{
	"Deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, progressDeadlineSeconds: 600, revisionHistoryLimit: 10,
		strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}, selector: {matchLabels: {app: web}}, template: ` + template("Always") + `}}`,
	"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {replicas: 1, serviceName: web, podManagementPolicy: OrderedReady, revisionHistoryLimit: 10,
		updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}, selector: {matchLabels: {app: web}}, template: ` + template("Always") + `}}`,
	"Job": `{apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {parallelism: 1, completions: 1, backoffLimit: 6, completionMode: NonIndexed, suspend: false,
		podReplacementPolicy: TerminatingOrFailed, template: ` + template("Never") + `}}`,
}

func template(restart string) string {
	return `{metadata: {labels: {app: web}}, spec: {restartPolicy: ` + restart + `, terminationGracePeriodSeconds: 30, dnsPolicy: ClusterFirst,
		schedulerName: default-scheduler, containers: [{name: web, image: nginx, imagePullPolicy: Always, resources: {}}]}}`
}

// situations are what functions in tests of controllers write to make a workload ready by hand: 11
// for Deployments, 3 for StatefulSets, 4 for Jobs.
var situations = []struct {
	name, kind string
	status     string
	unsent     bool     // it goes the way of the object, which ignores a status, not that of the status
	lacks      []string // what is missing; nil: it is right
}{
	{"ready replicas and the condition Available", "Deployment", `{replicas: 1, readyReplicas: 1, conditions: [{type: Available, status: "True", reason: MinimumReplicasAvailable}]}`, false,
		[]string{`conditions[type="Progressing"]: missing`, "observedGeneration: missing: 1", "updatedReplicas: missing: 1", "availableReplicas: missing: 1"}},
	{"counts and nothing else", "Deployment", `{replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1}`, false,
		[]string{"observedGeneration: missing: 1", `conditions[type="Progressing"]: missing`}},
	{"all but Progressing", "Deployment", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: "True"}]}`, false,
		[]string{`conditions[type="Progressing"]: missing`}},
	{"all but updatedReplicas", "Deployment", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}`, false,
		[]string{"updatedReplicas: missing: 1"}},
	{"a status that is sent with the object", "Deployment", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}`, true,
		[]string{"observedGeneration: missing: 1", `conditions[type="Progressing"]: missing`, "readyReplicas: missing: 1"}},
	{"the condition Available and nothing else", "Deployment", `{conditions: [{type: Available, status: "True", reason: MinimumReplicasAvailable, message: ready}]}`, false,
		[]string{`conditions[type="Progressing"]: missing`, "replicas: missing: 1", "readyReplicas: missing: 1"}},
	{"Available and Progressing without a reason", "Deployment", `{observedGeneration: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]}`, false,
		[]string{`conditions[type="Progressing"].reason: missing: "NewReplicaSetAvailable"`, "updatedReplicas: missing: 1"}},
	{"ready replicas and nothing else", "Deployment", `{readyReplicas: 1}`, false,
		[]string{"replicas: missing: 1", "updatedReplicas: missing: 1", `conditions[type="Progressing"]: missing`}},
	{"counts for the kubelet and the controller", "Deployment", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1}`, false,
		[]string{`conditions[type="Progressing"]: missing`}},
	{"available replicas in a loop", "Deployment", `{replicas: 1, availableReplicas: 1, readyReplicas: 1, observedGeneration: 1}`, false,
		[]string{"updatedReplicas: missing: 1", `conditions[type="Progressing"]: missing`}},
	{"a rollout that has not ended", "Deployment", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: ReplicaSetUpdated}]}`, false,
		[]string{`conditions[type="Progressing"].reason: "ReplicaSetUpdated", should be "NewReplicaSetAvailable"`}},

	{"every count and both revisions", "StatefulSet", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, currentReplicas: 1, updatedReplicas: 1, currentRevision: web-1, updateRevision: web-1}`, false, nil},
	{"replicas and ready replicas", "StatefulSet", `{replicas: 1, readyReplicas: 1}`, false,
		[]string{"observedGeneration: missing: 1", "currentReplicas: missing: 1", "updateRevision: missing"}},
	{"no revisions", "StatefulSet", `{observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, currentRevision: "", updateRevision: ""}`, false,
		[]string{`currentRevision: "", should be "web-`, "updatedReplicas: missing: 1"}},

	{"succeeded Pods and no condition", "Job", `{succeeded: 1}`, false,
		[]string{"completionTime: missing", "startTime: missing", `conditions[type="Complete"]: missing`}},
	{"ready Pods of a Job that runs", "Job", `{active: 1, ready: 1}`, false,
		[]string{"startTime: missing"}},
	{"a complete Job", "Job", `{startTime: "2006-01-02T15:04:05Z", completionTime: "2006-01-02T15:04:06Z", succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`, false, nil},
	{"a complete Job of which no Pod has succeeded", "Job", `{startTime: "2006-01-02T15:04:05Z", completionTime: "2006-01-02T15:04:06Z", conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`, false, nil},
}

// byHand is the object with the status that was written, as an API server has it.
func byHand(t *testing.T, kind, status string, unsent bool) *unstructured.Unstructured {
	t.Helper()
	cluster := memory.New(memory.Options{})
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(manifests[kind], "\t", " ")), &obj.Object))
	obj.SetNamespace("default")
	obj, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(status), &fields))
	obj.Object["status"] = fields
	var way []string
	if !unsent {
		way = []string{"status"}
	}
	obj, err = cluster.Update(t.Context(), obj, metav1.UpdateOptions{}, way...)
	require.NoError(t, err)
	return obj
}

func TestSituations(t *testing.T) {
	require.Len(t, situations, 18)
	for _, s := range situations {
		t.Run(s.kind+"/"+s.name, func(t *testing.T) {
			obj := byHand(t, s.kind, s.status, s.unsent)
			standard := kstatus.Standard().Compute(obj, obj.GetCreationTimestamp().Time).Status
			said := kstatustest.Check(obj)
			if s.lacks == nil {
				require.NoError(t, said)
				require.Equal(t, kstatus.Current, standard)
			} else {
				require.Error(t, said)
			}
			for _, what := range s.lacks {
				require.ErrorContains(t, said, what)
				require.NotEqual(t, kstatus.Current, standard, "it is not only the extended profile that wants more")
			}
			require.NoError(t, kstatustest.MakeCurrent(obj))
			stagetest.RequireCurrent(t, obj)
		})
	}
}

// TestSituationsInTheLab replaces the functions.
func TestSituationsInTheLab(t *testing.T) {
	for _, s := range situations {
		t.Run(s.kind+"/"+s.name, func(t *testing.T) {
			lab := stagetest.New(t, stagetest.LabOptions{})
			lab.Apply(strings.ReplaceAll(manifests[s.kind], "\t", " "))
			lab.WaitCurrent()
			lab.Settle()
			obj := lab.Get(byHand(t, s.kind, s.status, s.unsent).GetAPIVersion(), s.kind, "web")
			stagetest.RequireCurrent(t, obj)
			for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
				require.Equal(t, kstatus.Current, rules.Compute(obj, lab.Now()).Status, profile)
			}
		})
	}
}
