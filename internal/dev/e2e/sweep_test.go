package e2e_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestSweepAsAnIndexedJob applies the manifest of a sweep: the real controllers run its four parts,
// whose Pods are played, and each Pod gets the arguments of another part.
func TestSweepAsAnIndexedJob(t *testing.T) {
	cluster := newCluster(t)
	startControllers(t, plane)
	playNodes(t, cluster, 2, presets.PodFast())
	text, err := os.ReadFile("../../../examples/simulator/sweep.job.yaml")
	require.NoError(t, err)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: sweep}}")
	create(t, cluster, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: sweep-results}, spec: {accessModes: [ReadWriteMany],
  capacity: {storage: 1Gi}, hostPath: {path: /results}, claimRef: {namespace: sweep, name: sweep-results}}}`)
	for _, obj := range decode(t, string(text)) {
		obj.SetNamespace("sweep")
		_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
	}

	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	var job *unstructured.Unstructured
	eventuallyWithin(t, "the Job is complete", func() bool {
		job, err = cluster.Get(t.Context(), jobs, types.NamespacedName{Namespace: "sweep", Name: "sweep"})
		return err == nil && condition(job, "Complete") == "True"
	})
	indexes, _, err := unstructured.NestedString(job.Object, "status", "completedIndexes")
	require.NoError(t, err)
	require.Equal(t, "0-3", indexes)

	pods, err := cluster.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "sweep", metav1.ListOptions{})
	require.NoError(t, err)
	var parts []string
	for _, pod := range pods.Items {
		parts = append(parts, pod.GetAnnotations()["batch.kubernetes.io/job-completion-index"])
		containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
		require.NoError(t, err)
		container := containers[0].(map[string]any)
		require.Contains(t, container["args"], "$(JOB_COMPLETION_INDEX)/4")
		require.Contains(t, names(container["env"]), "JOB_COMPLETION_INDEX", "which the kubelet puts there")
	}
	require.ElementsMatch(t, []string{"0", "1", "2", "3"}, parts)
}

// names returns the names of a list of objects.
func names(list any) (all []string) {
	for _, v := range list.([]any) {
		all = append(all, v.(map[string]any)["name"].(string))
	}
	return all
}
