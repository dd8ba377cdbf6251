package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestAutoscalersOfBothVersions holds that both versions are the same objects, and that what v1
// cannot say outlives its writes.
func TestAutoscalersOfBothVersions(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	old, present := client.AutoscalingV1().HorizontalPodAutoscalers("default"), client.AutoscalingV2().HorizontalPodAutoscalers("default")
	made, err := old.Create(t.Context(), &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"}, MaxReplicas: 5, TargetCPUUtilizationPercentage: new(int32(70))}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 70, *made.Spec.TargetCPUUtilizationPercentage)

	hpa, err := present.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 70, *hpa.Spec.Metrics[0].Resource.Target.AverageUtilization)
	hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceMemory, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))}}})
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(10))}}
	_, err = present.Update(t.Context(), hpa, metav1.UpdateOptions{})
	require.NoError(t, err)

	made, err = old.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"targetCPUUtilizationPercentage":60}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	made.Spec.MaxReplicas = 7
	_, err = old.Update(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	hpa, err = present.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 7, hpa.Spec.MaxReplicas)
	require.EqualValues(t, 60, *hpa.Spec.Metrics[0].Resource.Target.AverageUtilization)
	require.Equal(t, corev1.ResourceMemory, hpa.Spec.Metrics[1].Resource.Name)
	require.EqualValues(t, 10, *hpa.Spec.Behavior.ScaleDown.StabilizationWindowSeconds)
	list, err := old.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 60, *list.Items[0].Spec.TargetCPUUtilizationPercentage)
}
