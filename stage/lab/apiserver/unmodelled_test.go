package apiserver_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A warningsLog keeps the warnings that a client gets.
type warningsLog struct {
	mu    sync.Mutex
	texts []string
}

func (l *warningsLog) HandleWarningHeader(code int, _, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if code == 299 {
		l.texts = append(l.texts, text)
	}
}

// take returns the warnings since the last call.
func (l *warningsLog) take() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts, l.texts = l.texts, nil
	return texts
}

func startWarned(t *testing.T, o apiserver.Options) (*kubernetes.Clientset, *warningsLog) {
	config, log := apiserver.Start(t, memory.New(memory.Options{}), o), &warningsLog{}
	config.WarningHandler = log
	return kubernetes.NewForConfigOrDie(config), log
}

// TestWhatIsNotModelledIsTold checks that a client is warned of a feature without an effect when it
// writes the first object that asks for it, once for each kind and field.
func TestWhatIsNotModelledIsTold(t *testing.T) {
	c, log := startWarned(t, apiserver.Options{})
	service := func(name, ip string, o metav1.CreateOptions) {
		_, err := c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: ip, Ports: []corev1.ServicePort{{Port: 80}}}}, o)
		require.NoError(t, err)
	}
	service("plain", "", metav1.CreateOptions{})
	require.Empty(t, log.take())
	service("dry", "198.18.0.1", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.Empty(t, log.take(), "nothing is stored")
	service("a", "198.18.0.1", metav1.CreateOptions{})
	require.Equal(t, []string{"Service spec.loadBalancerIP: not modelled: an address that the user wants"}, log.take())
	service("b", "198.18.0.2", metav1.CreateOptions{})
	require.Empty(t, log.take(), "it was told")

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, log.take())
	_, err = c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, log.take())
	_, err = c.CoreV1().Services("default").Patch(t.Context(), "s", types.MergePatchType, []byte(`{"spec":{"trafficDistribution":"PreferClose"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"Service spec.trafficDistribution: not modelled: hints in EndpointSlices"}, log.take())
}

// TestWhatTheServerDoesIsNotTold checks that options of the server end the warnings about what they do.
func TestWhatTheServerDoesIsNotTold(t *testing.T) {
	for _, does := range []bool{false, true} {
		c, log := startWarned(t, apiserver.Options{RBAC: does, ServiceAccounts: does})
		_, err := c.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, does, len(log.take()) == 0)
		_, err = c.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		_, err = c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, does, len(log.take()) == 0)
	}
}
