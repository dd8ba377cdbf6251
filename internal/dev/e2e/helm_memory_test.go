package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// helmChart is a Deployment and a ConfigMap that the image of it is in.
func helmChart(image string) *chart.Chart {
	manifest := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: %q}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: image}
data: {image: %q}
`, image, image)
	return &chart.Chart{
		Metadata:  &chart.Metadata{Name: "chart", Version: "0.1.0", APIVersion: "v2"},
		Templates: []*common.File{{Name: "templates/objects.yaml", Data: []byte(manifest)}},
	}
}

// TestHelmInMemory installs, upgrades and rolls back a chart on a lab, waits each time, and keeps
// its releases in Secrets there.
func TestHelmInMemory(t *testing.T) {
	user := startLab(t)
	config, err := clientcmd.BuildConfigFromFlags("", user.kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	_, err = client.CoreV1().Nodes().Create(t.Context(), helmNode(), metav1.CreateOptions{})
	require.NoError(t, err)
	configuration := action.NewConfiguration()
	require.NoError(t, configuration.Init(helmCluster{config, "default"}, "default", "secret"))

	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.Timeout, install.WaitStrategy = "web", "default", 5*time.Minute, kube.StatusWatcherStrategy
	_, err = install.RunWithContext(t.Context(), helmChart("nginx:1"), map[string]any{})
	require.NoError(t, err)
	requireHelmImage(t, client, "nginx:1")

	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.Timeout, upgrade.WaitStrategy = "default", 5*time.Minute, kube.StatusWatcherStrategy
	_, err = upgrade.RunWithContext(t.Context(), "web", helmChart("nginx:2"), map[string]any{})
	require.NoError(t, err)
	requireHelmImage(t, client, "nginx:2")

	rollback := action.NewRollback(configuration)
	rollback.Version, rollback.Timeout, rollback.WaitStrategy = 1, 5*time.Minute, kube.StatusWatcherStrategy
	require.NoError(t, rollback.Run("web"))
	requireHelmImage(t, client, "nginx:1")
	releases, err := action.NewHistory(configuration).Run("web")
	require.NoError(t, err)
	require.Len(t, releases, 3)

	uninstall := action.NewUninstall(configuration)
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, 5*time.Minute
	_, err = uninstall.Run("web")
	require.NoError(t, err)
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range pods.Items {
		require.NotNil(t, p.DeletionTimestamp, p.Name)
	}
}

func helmNode() *corev1.Node {
	room := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
}

// requireHelmImage checks that a rollout is complete.
func requireHelmImage(t *testing.T, client kubernetes.Interface, image string) {
	t.Helper()
	name := types.NamespacedName{Namespace: "default", Name: "web"}
	d, err := client.AppsV1().Deployments(name.Namespace).Get(t.Context(), name.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, image, d.Spec.Template.Spec.Containers[0].Image)
	require.Equal(t, []int32{2, 2, 2}, []int32{d.Status.UpdatedReplicas, d.Status.AvailableReplicas, d.Status.Replicas})
	cm, err := client.CoreV1().ConfigMaps(name.Namespace).Get(t.Context(), "image", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, image, cm.Data["image"])
}
