package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestAdmissionOfABareServer checks what the admission plugins that kube-apiserver has by default do on a
// bare server, without a lab.
func TestAdmissionOfABareServer(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{Bare: true})).CoreV1()
	amounts := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	_, err := c.LimitRanges("default").Create(t.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Default: amounts("500m"), DefaultRequest: amounts("100m"), Max: amounts("1")}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := func(name string, limit corev1.ResourceList) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{PriorityClassName: "system-cluster-critical",
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Limits: limit}}}}}
	}
	made, err := c.Pods("default").Create(t.Context(), pod("p", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "500m", made.Spec.Containers[0].Resources.Limits.Cpu().String())
	require.Equal(t, "100m", made.Spec.Containers[0].Resources.Requests.Cpu().String())
	require.EqualValues(t, 2000000000, *made.Spec.Priority, "of the PriorityClass that a cluster is born with")
	require.Len(t, made.Spec.Tolerations, 2, "not-ready and unreachable, for five minutes")
	require.Empty(t, made.Spec.ServiceAccountName, "the plugin ServiceAccount is an option")
	_, err = c.Pods("default").Create(t.Context(), pod("q", amounts("2")), metav1.CreateOptions{})
	require.EqualError(t, err, `pods "q" is forbidden: maximum cpu usage per Container is 1, but limit is 2`)
	_, err = c.Pods("missing").Create(t.Context(), pod("p", nil), metav1.CreateOptions{})
	require.True(t, apierrors.IsNotFound(err), err)

	claim, err := c.PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"kubernetes.io/pvc-protection"}, claim.Finalizers)
	node, err := c.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "node.kubernetes.io/not-ready", node.Spec.Taints[0].Key)
	service, err := c.Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
		Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, service.Spec.Ports[0].NodePort, int32(30000))

	_, err = c.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Pods("strict").Create(t.Context(), pod("p", nil), metav1.CreateOptions{})
	require.ErrorContains(t, err, "violates PodSecurity")
	require.True(t, apierrors.IsForbidden(c.Namespaces().Delete(t.Context(), "default", metav1.DeleteOptions{})))
}
