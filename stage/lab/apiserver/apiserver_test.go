package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// newLab returns a lab that follows the clock of a bubble.
func newLab(t *testing.T) *labtest.Lab {
	return labtest.New(t, labtest.Options{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }})
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
		}},
	}
}

// A typed client of client-go, which speaks protobuf, and a lab that answers what it writes.
func TestTypedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t)
		c := kubernetes.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
		created, err := c.AppsV1().Deployments("default").Create(t.Context(), deployment("web", 3), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, created.UID)
		lab.Advance(time.Minute)
		got, err := c.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, int32(3), got.Status.ReadyReplicas)

		scale, err := c.AppsV1().Deployments("default").UpdateScale(t.Context(), "web", &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, "app=web", scale.Status.Selector)
		lab.Advance(time.Minute)
		pods, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		require.NoError(t, err)
		require.Len(t, pods.Items, 1)

		_, err = c.AppsV1().Deployments("nowhere").Create(t.Context(), deployment("web", 1), metav1.CreateOptions{})
		require.ErrorContains(t, err, "does not match")
		_, err = c.CoreV1().ConfigMaps("default").Get(t.Context(), "none", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), err)
		require.NoError(t, c.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	})
}

// A manager of controller-runtime, unmodified, with leader election, over ten virtual minutes.
func TestManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t)
		requests := map[string]int{}
		cfg := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{
			LeaderElection: true, LeaderElectionID: "example", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
			Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		})
		require.NoError(t, err)
		c := mgr.GetClient()
		counts := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			var d appsv1.Deployment
			if err := c.Get(ctx, r.NamespacedName, &d); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			requests[r.Name]++
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name + "-seen"}}
			_, err := ctrl.CreateOrUpdate(ctx, c, cm, func() error {
				cm.Data = map[string]string{"ready": string(rune('0' + d.Status.ReadyReplicas))}
				return ctrl.SetControllerReference(&d, cm, mgr.GetScheme())
			})
			return reconcile.Result{RequeueAfter: time.Minute}, err
		})
		require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Complete(counts))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })

		lab.Advance(time.Second)
		require.NoError(t, c.Create(t.Context(), deployment("web", 2)))
		lab.Advance(10 * time.Minute)
		var seen corev1.ConfigMap
		require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web-seen"}, &seen))
		require.Equal(t, "2", seen.Data["ready"])
		require.Greater(t, requests["web"], 10)
		require.NoError(t, c.Delete(t.Context(), deployment("web", 2)))
		lab.Advance(time.Minute)
		var pods corev1.PodList
		require.NoError(t, mgr.GetAPIReader().List(t.Context(), &pods, client.InNamespace("default")))
		require.Empty(t, pods.Items)
	})
}

func TestListen(t *testing.T) {
	l, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	c := kubernetes.NewForConfigOrDie(l.Config())
	v, err := c.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "v1.36.3+stagecraft", v.GitVersion)
	accounts, err := c.CoreV1().ServiceAccounts("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, accounts.Items, 1)

	stranger := l.Config()
	stranger.BearerToken = "guess"
	_, err = kubernetes.NewForConfigOrDie(stranger).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), err)
	file, err := l.Kubeconfig()
	require.NoError(t, err)
	require.Contains(t, string(file), l.URL())
}

// Subresources of Pods are those of the cluster: budgets count as they do there, who asks is who
// writes, and a Pod that does not exist has none.
func TestSubresourcesOfPods(t *testing.T) {
	var users []string
	cluster := memory.New(memory.Options{Trace: func(r memory.Request) {
		if r.Kind.Kind == "Pod" {
			users = append(users, r.User)
		}
	}})
	require.NoError(t, cluster.Load(t.Context(), []byte(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
status: {disruptionsAllowed: 0}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, labels: {a: b}}
spec: {containers: [{name: c, image: i}]}
status: {phase: Pending}
`)))
	cfg := apiserver.Start(t, cluster, apiserver.Options{})
	cfg.Impersonate.UserName = "ann"
	pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default")
	_, err := pods.GetLogs("none", &corev1.PodLogOptions{}).DoRaw(t.Context())
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = pods.GetLogs("p", &corev1.PodLogOptions{}).DoRaw(t.Context())
	require.NoError(t, err)

	users = nil
	named := metav1.ObjectMeta{Namespace: "default", Name: "p"}
	binding := &corev1.Binding{ObjectMeta: named, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	post := kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient().Post()
	require.NoError(t, post.Namespace("default").Resource("bindings").Body(binding).Do(t.Context()).Error())
	require.Equal(t, []string{"ann"}, users)
	require.NoError(t, pods.EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: named}), "a Pending Pod needs no budget")
}
