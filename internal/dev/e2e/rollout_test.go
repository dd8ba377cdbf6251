package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	jobKind        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// TestPresetsPlayTheKubelet brings a Deployment up and over, a Job to its end and both away again,
// with the presets in place of a kubelet.
func TestPresetsPlayTheKubelet(t *testing.T) {
	cluster := newCluster(t)
	startControllers(t, plane)
	playNodes(t, cluster, 1, presets.PodFast())
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: presets}}")
	create(t, cluster, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: presets},
  spec: {replicas: 20, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}`)
	create(t, cluster, `{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: presets}, spec: {parallelism: 2, completions: 5,
		template: {spec: {restartPolicy: Never, containers: [{name: a, image: a1}]}}}}`)
	current := func(kind schema.GroupVersionKind, name string) func() bool {
		return func() bool {
			obj, err := cluster.Get(t.Context(), kind, types.NamespacedName{Namespace: "presets", Name: name})
			return err == nil && kstatus.Compute(obj).Status == kstatus.Current
		}
	}
	web := types.NamespacedName{Namespace: "presets", Name: "web"}
	eventually(t, "the Deployment is available", current(deploymentKind, "web"))
	eventually(t, "the Job is complete", func() bool {
		obj, err := cluster.Get(t.Context(), jobKind, types.NamespacedName{Namespace: "presets", Name: "work"})
		return err == nil && condition(obj, "Complete") == "True"
	})

	_, err := cluster.Patch(t.Context(), deploymentKind, web, types.StrategicMergePatchType, []byte(`{"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a2"}]}}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, "the Deployment has rolled over", current(deploymentKind, "web"))

	foreground := metav1.DeletePropagationForeground
	require.NoError(t, cluster.Delete(t.Context(), deploymentKind, web, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	require.NoError(t, cluster.Delete(t.Context(), jobKind, types.NamespacedName{Namespace: "presets", Name: "work"}, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	eventually(t, "all Pods are gone", func() bool {
		list, err := cluster.List(t.Context(), podKind, "presets", metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
}
