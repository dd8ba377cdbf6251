package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestServiceAccountsOfPods holds what the option ServiceAccounts gives new Pods, and that without it
// they stay as they are.
func TestServiceAccountsOfPods(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{ServiceAccounts: true}))
	pods, accounts := client.CoreV1().Pods("default"), client.CoreV1().ServiceAccounts("default")
	pod := func(name string, change func(*corev1.PodSpec)) (*corev1.Pod, error) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		change(&p.Spec)
		return pods.Create(t.Context(), p, metav1.CreateOptions{})
	}
	got, err := pod("a", func(*corev1.PodSpec) {})
	require.NoError(t, err)
	require.Equal(t, "default", got.Spec.ServiceAccountName)
	require.Equal(t, "default", got.Spec.DeprecatedServiceAccount)
	require.Len(t, got.Spec.Volumes, 1)
	require.Regexp(t, `^kube-api-access-[a-z0-9]{5}$`, got.Spec.Volumes[0].Name)
	require.Len(t, got.Spec.Volumes[0].Projected.Sources, 3)
	require.EqualValues(t, 3607, *got.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.ExpirationSeconds)
	require.Equal(t, []corev1.VolumeMount{{Name: got.Spec.Volumes[0].Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}, got.Spec.Containers[0].VolumeMounts)

	_, err = pod("b", func(s *corev1.PodSpec) { s.ServiceAccountName = "none" })
	require.EqualError(t, err, `pods "b" is forbidden: error looking up service account default/none: serviceaccount "none" not found`)

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "pulls"}, AutomountServiceAccountToken: new(bool), ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}}}
	_, err = accounts.Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	got, err = pod("c", func(s *corev1.PodSpec) { s.ServiceAccountName = "pulls" })
	require.NoError(t, err)
	require.Empty(t, got.Spec.Volumes)
	require.Equal(t, account.ImagePullSecrets, got.Spec.ImagePullSecrets)
	wanted := true
	got, err = pod("d", func(s *corev1.PodSpec) { s.ServiceAccountName, s.AutomountServiceAccountToken = "pulls", &wanted })
	require.NoError(t, err)
	require.Len(t, got.Spec.Volumes, 1, "the Pod decides")

	client = kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	pods = client.CoreV1().Pods("default")
	got, err = pod("a", func(*corev1.PodSpec) {})
	require.NoError(t, err)
	require.Empty(t, got.Spec.ServiceAccountName)
	require.Empty(t, got.Spec.Volumes)
}
