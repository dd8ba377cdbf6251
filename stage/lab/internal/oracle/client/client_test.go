package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/oracle/client"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestRequests sends one of each.
func TestRequests(t *testing.T) {
	cluster := memory.New(memory.Options{})
	cs, err := kubernetes.NewForConfig(client.Config(cluster, client.Options{}))
	require.NoError(t, err)
	ctx, pods := t.Context(), cs.CoreV1().Pods("x")
	yes := true
	w, err := pods.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, watch.Bookmark, (<-w.ResultChan()).Type)

	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, watch.Added, (<-w.ResultChan()).Type)
	pod.Labels = map[string]string{"l": "1"}
	pod, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	pod.Status.Phase = corev1.PodRunning
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"m":"2"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "l=1"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, map[string]string{"l": "1", "m": "2"}, list.Items[0].Labels)
	require.Equal(t, corev1.PodRunning, list.Items[0].Status.Phase)
	require.NoError(t, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	_, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
