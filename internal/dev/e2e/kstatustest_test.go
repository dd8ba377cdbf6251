package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

const podTemplate = `{metadata: {labels: {app: made}}, spec: {containers: [{name: web, image: nginx}]}}`

// made are objects that a server accepts, and the states that they can be made to be in.
var made = []struct{ states, object string }{
	{"Current Failed", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, selector: {matchLabels: {app: made}}, template: ` + podTemplate + `}}`},
	{"Current Pending", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2, selector: {matchLabels: {app: made}}, template: ` + podTemplate + `}}`},
	{"Current Pending", `{apiVersion: v1, kind: ReplicationController, spec: {replicas: 2, selector: {app: made}, template: ` + podTemplate + `}}`},
	{"Current", `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3, serviceName: made,
  selector: {matchLabels: {app: made}}, template: ` + podTemplate + `}}`},
	{"Current", `{apiVersion: apps/v1, kind: DaemonSet, spec: {selector: {matchLabels: {app: made}}, template: ` + podTemplate + `}}`},
	{"Current Failed", `{apiVersion: batch/v1, kind: Job, spec: {completions: 2, completionMode: Indexed,
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`},
	{"Current Failed", `{apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`},
	{"Current", `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`},
	{"Current Failed", `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "* * * * *", suspend: false,
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`},
	{"Current Failed Pending CrashLoopBackOff ImagePullBackOff OOMKilled Evicted Unschedulable", `{apiVersion: v1,
  kind: Pod, spec: {readinessGates: [{conditionType: example.com/lb}],
  initContainers: [{name: proxy, image: p, restartPolicy: Always}, {name: init, image: i}], containers: [{name: c, image: i}, {name: d, image: i}]}}`},
	{"Current Succeeded Failed OOMKilled", `{apiVersion: v1, kind: Pod, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`},
	{"Current Failed Pending", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`},
	{"Current Failed", `{apiVersion: v1, kind: PersistentVolume, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /tmp}}}`},
	{"Current Pending", `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, ports: [{port: 80}]}}`},
	{"Current NotReady", `{apiVersion: v1, kind: Node}`},
	{"Current", `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "10"}}}`},
	{"Current", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: made, port: {number: 80}}}}}`},
	{"Current Failed", `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 2, selector: {matchLabels: {app: made}}}}`},
	{"Current Failed", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {minReplicas: 2, maxReplicas: 4,
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: made}}}`},
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// TestMadeStatusesAreValid checks that a real server accepts the statuses of package kstatustest.
func TestMadeStatusesAreValid(t *testing.T) {
	c := newCluster(t)
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "made"}}}
	_, err := c.Create(t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	for i, m := range made {
		for _, state := range strings.Fields(m.states) {
			obj := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(m.object), &obj.Object))
			t.Run(fmt.Sprintf("%d/%s/%s", i, obj.GetKind(), state), func(t *testing.T) {
				obj.SetName(fmt.Sprintf("made-%d-%s", i, strings.ToLower(state)))
				obj.SetNamespace("made")
				if kind := obj.GetKind(); kind == "Node" || kind == "PersistentVolume" {
					obj.SetNamespace("")
				}
				stored, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
				require.NoError(t, err)
				t.Cleanup(func() { // other tests must not find these Nodes and volumes
					require.NoError(t, c.Delete(context.WithoutCancel(t.Context()), stored.GroupVersionKind(), nameOf(stored), metav1.DeleteOptions{}))
				})
				require.NoError(t, kstatustest.Make(stored, kstatustest.State(state), kstatustest.Options{}))
				want := stored.Object["status"]
				updated, err := c.Update(t.Context(), stored, metav1.UpdateOptions{}, "status")
				require.NoError(t, err)
				require.Subset(t, updated.Object["status"], want, "the server drops no field")
				if state == "Current" {
					kstatustest.RequireCurrent(t, updated)
				}
			})
		}
	}
}
