package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const workload = `
apiVersion: %s
kind: %s
metadata: {name: a, namespace: default}
spec:
  replicas: 2
  serviceName: a
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}
`

// recorded plays an object and returns its Events as text, sorted.
func recorded(t *testing.T, text string) (lines []string) {
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	sim, err := simulation.New(set, simulation.Options{Hooks: []memory.Hooks{admission.Hooks()}, Controllers: controllers.All(controllers.Options{}), Reconcile: reconcile.Options{Events: true}})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(text)))
	require.NoError(t, sim.Advance(t.Context(), 2*time.Minute))
	list, err := sim.Cluster().List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range list.Items {
		if name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name"); name == "a" {
			component, _, _ := unstructured.NestedString(e.Object, "source", "component")
			lines = append(lines, fmt.Sprint(component, " ", e.Object["reason"], ": ", e.Object["message"]))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestWorkloadsRecordEvents(t *testing.T) {
	require.Regexp(t, `^deployment-controller ScalingReplicaSet: Scaled up replica set a-\w+ from 0 to 2$`, recorded(t, fmt.Sprintf(workload, "apps/v1", "Deployment"))[0])
	require.Regexp(t, `^replicaset-controller SuccessfulCreate: Created pod: a-\w+$`, recorded(t, fmt.Sprintf(workload, "apps/v1", "ReplicaSet"))[1])
	require.Equal(t, []string{"statefulset-controller SuccessfulCreate: Create Pod a-0 in StatefulSet a successful"}, recorded(t, fmt.Sprintf(workload, "apps/v1", "StatefulSet")))
	require.Regexp(t, `^daemonset-controller SuccessfulCreate: Created pod: a-\w+$`, recorded(t, fmt.Sprintf(workload, "apps/v1", "DaemonSet")+`
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {conditions: [{type: Ready, status: "True"}]}}
`)[0])
	cronJob := `
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: default}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
`
	require.Regexp(t, `^cronjob-controller SuccessfulCreate: Created job a-\d+$`, recorded(t, cronJob)[0])
}

// TestPodsOfADeletedJobLoseTheirFinalizer, so that they can go.
func TestPodsOfADeletedJobLoseTheirFinalizer(t *testing.T) {
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	sim, err := simulation.New(set, simulation.Options{Hooks: []memory.Hooks{admission.Hooks()}, Controllers: controllers.All(controllers.Options{})})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`)))
	require.NoError(t, sim.Advance(t.Context(), time.Second))
	orphan := metav1.DeletePropagationOrphan
	job := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	require.NoError(t, sim.Cluster().Delete(t.Context(), job, types.NamespacedName{Namespace: "default", Name: "a"}, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	require.NoError(t, sim.Advance(context.Background(), time.Second))
	list, err := sim.Cluster().List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Empty(t, list.Items[0].GetFinalizers())
}
