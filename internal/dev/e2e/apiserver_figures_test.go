package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var figures = flag.Bool("figures", false, "measure the server in memory beside etcd and kube-apiserver")

// TestStartFigures measures the time from the start to the first answered request, as the median of
// several starts: make apiserver-figures.
func TestStartFigures(t *testing.T) {
	if !*figures {
		t.Skip("make apiserver-figures")
	}
	inMemory := middle(t, 21, func(t *testing.T) (*rest.Config, func()) {
		return apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}), func() {}
	})
	loopback := middle(t, 21, func(t *testing.T) (*rest.Config, func()) {
		l, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
		require.NoError(t, err)
		return l.Config(), func() { require.NoError(t, l.Close()) }
	})
	theirs := middle(t, 3, func(t *testing.T) (*rest.Config, func()) {
		p, err := controlplane.Start(filepath.Dir(plane.Program("etcd")))
		require.NoError(t, err)
		return p.Config(), func() { require.NoError(t, p.Stop()) }
	})
	t.Logf("start to first answered request: in memory %s, loopback %s, etcd and kube-apiserver %s: ratios %.0f and %.0f",
		inMemory, loopback, theirs, theirs.Seconds()/inMemory.Seconds(), theirs.Seconds()/loopback.Seconds())
}

// middle returns the middle time of n starts.
func middle(t *testing.T, n int, start func(*testing.T) (*rest.Config, func())) time.Duration {
	times := make([]time.Duration, 0, n)
	for range n {
		t.Run("start", func(t *testing.T) {
			begin := time.Now()
			config, stop := start(t)
			defer stop()
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
			require.NoError(t, err)
			times = append(times, time.Since(begin))
		})
	}
	slices.Sort(times)
	return times[n/2]
}

// TestManagerFigures measures how long ten virtual minutes of a manager with three controllers and 50
// Pods take: make apiserver-figures.
func TestManagerFigures(t *testing.T) {
	if !*figures {
		t.Skip("make apiserver-figures")
	}
	begin := time.Now()
	synctest.Test(t, func(t *testing.T) {
		lab := labtest.New(t, labtest.Options{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }})
		manager, err := ctrl.NewManager(apiserver.Start(t, lab.Cluster(), apiserver.Options{}), ctrl.Options{
			LeaderElection: true, LeaderElectionID: "figures", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
			Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)}})
		require.NoError(t, err)
		reconciled := map[string]int{}
		for _, obj := range []client.Object{&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}} {
			kind := fmt.Sprintf("%T", obj)
			require.NoError(t, ctrl.NewControllerManagedBy(manager).For(obj).Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				reconciled[kind]++
				found := obj.DeepCopyObject().(client.Object)
				return reconcile.Result{RequeueAfter: time.Minute}, client.IgnoreNotFound(manager.GetClient().Get(ctx, r.NamespacedName, found))
			})))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- manager.Start(ctx) }()
		t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
		lab.Advance(time.Second)
		labels := map[string]string{"app": "web"}
		require.NoError(t, manager.GetClient().Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(50)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}))
		lab.Advance(10 * time.Minute)
		t.Logf("reconciled: %v", reconciled)
		require.Greater(t, reconciled["*v1.Pod"], 500)
	})
	t.Logf("a manager with three controllers and 50 Pods, ten virtual minutes: %s", time.Since(begin))
}
