package labtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

func TestJobsRunAsLongAsTheirCommand(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {
  restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, "90"]}]}}}}`)
	lab.Advance(89 * time.Second)
	require.EqualValues(t, 1, field(lab.Get("batch/v1", "Job", "j"), "status", "active"))
	lab.Advance(5 * time.Second)
	require.EqualValues(t, 1, field(lab.Get("batch/v1", "Job", "j"), "status", "succeeded"))
}

func TestJobsFailAsTheirCommand(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {backoffLimit: 0, template: {spec: {
  restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, sleep 5; exit 3]}]}}}}`)
	lab.Settle()
	require.EqualValues(t, 1, field(lab.Get("batch/v1", "Job", "j"), "status", "failed"))
}

func TestDeploymentsWaitForImagesAndProbes(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(deploymentOf("web", "{name: c, image: nginx, readinessProbe: {initialDelaySeconds: 20, httpGet: {port: 80}}}"), deploymentOf("gone", `{name: c, image: "nginx:404"}`))
	lab.Advance(19 * time.Second)
	require.Zero(t, ready(lab, "web"))
	lab.Advance(2 * time.Second)
	require.EqualValues(t, 2, ready(lab, "web"))
	lab.Advance(time.Hour)
	require.Zero(t, ready(lab, "gone"))

	lab.Apply(deploymentOf("gone", `{name: c, image: "nginx:1"}`))
	lab.WaitCurrent()
	require.EqualValues(t, 2, ready(lab, "gone"))
}

func deploymentOf(name, container string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `}, spec: {replicas: 2, selector: {matchLabels: {app: ` + name + `}},
  template: {metadata: {labels: {app: ` + name + `}}, spec: {containers: [` + container + `]}}}}`
}

func ready(lab *labtest.Lab, name string) any {
	v, _ := field(lab.Get("apps/v1", "Deployment", name), "status", "readyReplicas").(int64)
	return v
}

func TestDeletedPodsHaveTheirGracePeriod(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: busybox, command: [sleep, "3600"]}]}}`)
	lab.Advance(time.Minute)
	lab.Delete(object("v1", "Pod", "p"))
	lab.Advance(29 * time.Second)
	require.NotNil(t, field(lab.Get("v1", "Pod", "p"), "metadata", "deletionTimestamp"))
	require.Contains(t, lab.Explain(object("v1", "Pod", "p")), "stage/lab/controllers/kubelet does what the Pod says")
	lab.Advance(2 * time.Second)
	require.Empty(t, lab.List("v1", "Pod", ""))
}

func TestOwnStagesForPodsPlayThemAll(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Stages: []stage.Source{presets.PodChaos()}})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: "busybox:404"}]}}`)
	lab.WaitCurrent()
}

func TestKubeletsOfUnreachableNodesDoNothing(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	lab.Apply(deploymentOf("web", `{name: c, image: busybox, command: [sleep, "60"]}`))
	lab.Advance(30 * time.Second)
	require.EqualValues(t, 2, ready(lab, "web"))
	lab.Drive(object("v1", "Node", "node-1"), kstatustest.NotReady)
	lab.Advance(2 * time.Minute)
	require.Zero(t, ready(lab, "web"))
	lab.Drive(object("v1", "Node", "node-1"), labtest.Ready)
	lab.Advance(10 * time.Second)
	require.EqualValues(t, 2, ready(lab, "web"))
}

// TestOtherContainers: a lab does not know the program of an image. A Job, such as a hook of a
// chart, ends, unless an option has it run.
func TestOtherContainers(t *testing.T) {
	job := `{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {template: {metadata: {annotations: {%s}},
  spec: {restartPolicy: Never, containers: [{name: c, image: migrate}]}}}}`
	for _, runs := range []bool{false, true} {
		lab := labtest.New(t, labtest.Options{Kubelets: kubelet.Options{RunUnknown: runs}})
		lab.Apply(fmt.Sprintf(job, "unknown", ""), fmt.Sprintf(job, "known", "command.stagecraft-go.github.io/c: sleep 5"))
		lab.Advance(24 * time.Hour)
		counted := "succeeded"
		if runs {
			counted = "active"
		}
		require.EqualValues(t, 1, field(lab.Get("batch/v1", "Job", "unknown"), "status", counted))
		require.EqualValues(t, 1, field(lab.Get("batch/v1", "Job", "known"), "status", "succeeded"))
	}
}

func TestEventsAreRecorded(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: nginx}]}}`)
	lab.Settle()
	var got []string
	for _, e := range lab.List("v1", "Event", "") {
		if field(e, "involvedObject", "kind") == "Pod" {
			got = append(got, fmt.Sprint(field(e, "source", "component"), ": ", field(e, "reason"), ": ", field(e, "message")))
		}
	}
	require.ElementsMatch(t, []string{
		"default-scheduler: Scheduled: Successfully assigned default/p to node-1",
		`kubelet: Pulled: Container image "nginx" already present on machine`,
		"kubelet: Created: Container created",
		"kubelet: Started: Container started",
	}, got)
	quiet := labtest.New(t, labtest.Options{NoEvents: true})
	quiet.Apply(deploymentOf("web", "{name: c, image: nginx}"))
	quiet.WaitCurrent()
	require.Empty(t, quiet.List("v1", "Event", ""))
}

// TestALabTakesTime: the ReplicaSet controller sends 20 requests a second after the first 30.
func TestALabTakesTime(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Timing: simulation.ClusterLike()})
	begin := lab.Now()
	lab.Apply(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 100, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: nginx}]}}}}`)
	lab.WaitCurrent()
	require.InDelta(t, 4.5, lab.Now().Sub(begin).Seconds(), 1)
}

// TestEachFailedProbeIsRecorded: the liveness probe runs twice, then the container gets 5 seconds.
func TestEachFailedProbeIsRecorded(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {liveness.probe.stagecraft-go.github.io/c: fails}},
  spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, image: nginx, command: [sleep, 1h],
  livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10, failureThreshold: 2, initialDelaySeconds: 10}}]}}`)
	begin, got := lab.Now(), map[string]int64{}
	lab.Advance(24 * time.Second)
	for _, e := range lab.List("v1", "Event", "") {
		count, _ := field(e, "count").(int64)
		got[fmt.Sprint(field(e, "reason"), ": ", field(e, "message"))] = count
		if field(e, "reason") == "Killing" {
			require.Equal(t, begin.Add(20*time.Second).Format(time.RFC3339), field(e, "firstTimestamp"))
		}
	}
	require.EqualValues(t, 2, got["Unhealthy: Liveness probe failed: "])
	require.EqualValues(t, 1, got["Killing: Container c failed liveness probe, will be restarted"])
	require.EqualValues(t, 1, got["Started: Container started"])
	lab.Advance(time.Second)
	require.EqualValues(t, 1, field(lab.Get("v1", "Pod", "p"), "status", "containerStatuses").([]any)[0].(map[string]any)["restartCount"])
}

// TestKubeletsRefusePortsThatAreTaken: a StatefulSet whose Pod is bound by hand gets another Pod
// repeatedly, until the port is free.
func TestKubeletsRefusePortsThatAreTaken(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	const container = `{name: c, image: busybox, ports: [{containerPort: 80, hostPort: 80}]}`
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [` + container + `]}}`)
	lab.Advance(time.Second)
	lab.Apply(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: s, replicas: 1, selector: {matchLabels: {app: s}},
  template: {metadata: {labels: {app: s}}, spec: {nodeName: node-1, containers: [` + container + `]}}}}`)
	lab.Advance(500 * time.Millisecond)
	uid := lab.Get("v1", "Pod", "s-0").GetUID()
	lab.Advance(10 * time.Second)
	require.NotEqual(t, uid, lab.Get("v1", "Pod", "s-0").GetUID())
	require.True(t, slices.ContainsFunc(lab.List("v1", "Event", ""), func(e *unstructured.Unstructured) bool {
		return field(e, "message") == "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
	}))

	lab.Delete(object("v1", "Pod", "first"))
	lab.Advance(time.Minute)
	require.Equal(t, "Running", field(lab.Get("v1", "Pod", "s-0"), "status", "phase"))
}

// TestKubeletsObserveGenerations: a change of a spec and a deletion are new generations, and a refused Pod has observed its generation.
func TestKubeletsObserveGenerations(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	const spec = `spec: {activeDeadlineSeconds: %d, containers: [{name: c, image: busybox, command: [sleep, "3600"], ports: [{containerPort: 80, hostPort: 80}]}]}`
	requireObserved := func(name string, want int64) {
		t.Helper()
		lab.Advance(5 * time.Second)
		pod := lab.Get("v1", "Pod", name)
		require.Equal(t, want, pod.GetGeneration())
		require.Equal(t, want, field(pod, "status", "observedGeneration"))
	}
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, ` + fmt.Sprintf(spec, 600) + "}")
	requireObserved("p", 1)
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, ` + fmt.Sprintf(spec, 500) + "}")
	requireObserved("p", 2)
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: refused}, ` + strings.Replace(fmt.Sprintf(spec, 600), "{", "{nodeName: node-1, ", 1) + "}")
	requireObserved("refused", 1)
	require.Equal(t, "NodePorts", field(lab.Get("v1", "Pod", "refused"), "status", "reason"))
	lab.Delete(object("v1", "Pod", "p"))
	requireObserved("p", 3)
}
