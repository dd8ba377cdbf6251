package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscaling "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// attached returns a lab and a clientset that reads and writes its cluster.
func attached(t *testing.T) (*labtest.Lab, kubernetes.Interface) {
	lab := labtest.New(t, labtest.Options{})
	return lab, kubernetes.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec()}
}

func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func TestADeploymentBecomesCurrent(t *testing.T) {
	lab, client := attached(t)
	created, err := client.AppsV1().Deployments("default").Create(t.Context(), newDeployment("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, created.UID)
	require.Empty(t, created.Kind, "typed clients leave the kind empty")
	lab.WaitCurrent(created)
	got, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Status.AvailableReplicas)
	labtest.RequireCurrent(t, got)
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web", FieldSelector: "status.phase=Running"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 2)
	require.NotEmpty(t, pods.ResourceVersion)
	require.Empty(t, pods.Items[0].Kind)
	none, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Failed"})
	require.NoError(t, err)
	require.Empty(t, none.Items)
}

func TestStatusIsASubresource(t *testing.T) {
	_, client := attached(t)
	deployments := client.AppsV1().Deployments("default")
	web := newDeployment("web")
	web.Status.Replicas = 7
	web, err := deployments.Create(t.Context(), web, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Zero(t, web.Status.Replicas)
	web.Status.Replicas, web.Spec.Replicas = 1, new(int32(5))
	web, err = deployments.UpdateStatus(t.Context(), web, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, web.Status.Replicas)
	require.EqualValues(t, 2, *web.Spec.Replicas)
	require.EqualValues(t, 1, web.Generation)
	web.Status.Replicas, web.Spec.Replicas = 9, new(int32(5))
	web, err = deployments.Update(t.Context(), web, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, web.Status.Replicas)
	require.EqualValues(t, 5, *web.Spec.Replicas)
	require.EqualValues(t, 2, web.Generation)
	web, err = deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"readyReplicas":1}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.EqualValues(t, 1, web.Status.ReadyReplicas)
}

func TestOldVersionsConflict(t *testing.T) {
	_, client := attached(t)
	old, err := client.CoreV1().Pods("default").Create(t.Context(), podNamed("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	next := old.DeepCopy()
	next.Labels = map[string]string{"a": "b"}
	_, err = client.CoreV1().Pods("default").Update(t.Context(), next, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().Pods("default").Update(t.Context(), old, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = client.CoreV1().Pods("default").Create(t.Context(), podNamed("web"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	_, err = client.CoreV1().Pods("default").Get(t.Context(), "other", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestPatchesOfAllTypes(t *testing.T) {
	_, client := attached(t)
	deployments := client.AppsV1().Deployments("default")
	_, err := deployments.Create(t.Context(), newDeployment("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	for kind, c := range map[types.PatchType]struct{ patch, image string }{
		types.JSONPatchType:           {`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"json"}]`, "json"},
		types.MergePatchType:          {`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"merge"}]}}}}`, "merge"},
		types.StrategicMergePatchType: {`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"strategic"}]}}}}`, "strategic"},
	} {
		web, err := deployments.Patch(t.Context(), "web", kind, []byte(c.patch), metav1.PatchOptions{})
		require.NoError(t, err, kind)
		require.Equal(t, c.image, web.Spec.Template.Spec.Containers[0].Image)
	}
	applied, err := deployments.Apply(t.Context(), appsapply.Deployment("web", "default").WithLabels(map[string]string{"tier": "front"}), metav1.ApplyOptions{FieldManager: "test"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"app": "web", "tier": "front"}, applied.Labels)
	_, err = deployments.Apply(t.Context(), appsapply.Deployment("web", "default").WithSpec(appsapply.DeploymentSpec().WithReplicas(9)), metav1.ApplyOptions{FieldManager: "other"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestNamesAreGenerated(t *testing.T) {
	_, client := attached(t)
	p := podNamed("")
	p.GenerateName = "web-"
	a, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	require.NoError(t, err)
	b, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEqual(t, a.Name, b.Name)
	require.Regexp(t, "^web-.{5}$", a.Name)
}

func TestDeletionsTakeTheirTime(t *testing.T) {
	lab, client := attached(t)
	pods := client.CoreV1().Pods("default")
	held := podNamed("held")
	held.Finalizers = []string{"example.com/hold"}
	_, err := pods.Create(t.Context(), held, metav1.CreateOptions{})
	require.NoError(t, err)
	lab.Settle()
	require.NoError(t, pods.Delete(t.Context(), "held", metav1.DeleteOptions{}))
	held, err = pods.Get(t.Context(), "held", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, held.DeletionTimestamp)
	require.EqualValues(t, 30, *held.DeletionGracePeriodSeconds, "it is on a node")
	_, err = pods.Patch(t.Context(), "held", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Delete(t.Context(), "held", *metav1.NewDeleteOptions(0)))
	_, err = pods.Get(t.Context(), "held", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.True(t, apierrors.IsNotFound(pods.Delete(t.Context(), "held", metav1.DeleteOptions{})))
}

func TestDependentsGoWithTheirOwners(t *testing.T) {
	lab, client := attached(t)
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), newDeployment("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	lab.Settle()
	require.NoError(t, client.AppsV1().Deployments("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=other"}))
	_, err = client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, client.AppsV1().Deployments("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=web"}))
	lab.Settle()
	sets, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, sets.Items)
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, pods.Items)
}

func TestWatch(t *testing.T) {
	_, client := attached(t)
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "1"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	changes, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{LabelSelector: "x=1"})
	require.NoError(t, err)
	defer changes.Stop()
	e := <-changes.ResultChan()
	require.Equal(t, watch.Added, e.Type)
	require.Equal(t, "a", e.Object.(*corev1.ConfigMap).Name)
	_, err = client.CoreV1().ConfigMaps("default").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"2"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, watch.Deleted, (<-changes.ResultChan()).Type, "it does not match any more")
}

// TestAWatchThatNobodyReadsEnds would be a deadlock of the bubble if it did not.
func TestAWatchThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab, client := attached(t)
		changes, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		lab.Apply(podIn)
		synctest.Wait() // an event waits to be read
		changes.Stop()
		changes.Stop()
	})
}

const podIn = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: nginx}]}}"

// TestPodsAreBoundAndEvicted is in a bubble: client-go tries again for a while when the server is too busy.
func TestPodsAreBoundAndEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{}) // nobody else binds Pods
		client := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
		pods := client.CoreV1().Pods("default")
		web := podNamed("web")
		web.Labels = map[string]string{"app": "web"}
		_, err := pods.Create(t.Context(), web, metav1.CreateOptions{})
		require.NoError(t, err)
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
		require.NoError(t, pods.Bind(t.Context(), binding, metav1.CreateOptions{}))
		web, err = pods.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "node-1", web.Spec.NodeName)
		require.Equal(t, corev1.PodScheduled, web.Status.Conditions[0].Type)
		require.ErrorContains(t, pods.Bind(t.Context(), binding, metav1.CreateOptions{}), `already assigned to node "node-1"`)

		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: web.Labels},
		}}
		budget, err = client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget, metav1.CreateOptions{})
		require.NoError(t, err)
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, DeleteOptions: metav1.NewDeleteOptions(0)}
		web.Status.Phase = corev1.PodRunning // a Pod that is Pending needs no budget
		_, err = pods.UpdateStatus(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.True(t, apierrors.IsTooManyRequests(pods.EvictV1(t.Context(), eviction)))
		budget.Status.DisruptionsAllowed, budget.Status.ObservedGeneration = 1, 1
		_, err = client.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(t.Context(), budget, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, pods.EvictV1(t.Context(), eviction))
		require.True(t, apierrors.IsNotFound(pods.EvictV1(t.Context(), eviction)))
		budget, err = client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Zero(t, budget.Status.DisruptionsAllowed)
	})
}

func TestWorkloadsAreScaled(t *testing.T) {
	lab, client := attached(t)
	deployments := client.AppsV1().Deployments("default")
	_, err := deployments.Create(t.Context(), newDeployment("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	lab.WaitCurrent(newDeployment("web"))
	scale, err := deployments.GetScale(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, scale.Status.Replicas)
	require.Equal(t, "app=web", scale.Status.Selector)
	scale.Spec.Replicas = 3
	scale, err = deployments.UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, scale.Spec.Replicas)
	lab.WaitCurrent(newDeployment("web"))
	web, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, web.Status.ReadyReplicas)

	applied := autoscaling.Scale().WithName("web").WithNamespace("default").WithSpec(autoscaling.ScaleSpec().WithReplicas(4))
	_, err = deployments.ApplyScale(t.Context(), "web", applied, metav1.ApplyOptions{FieldManager: "me"})
	require.True(t, apierrors.IsConflict(err), "somebody else owns it: %v", err)
	scale, err = deployments.ApplyScale(t.Context(), "web", applied, metav1.ApplyOptions{FieldManager: "me", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 4, scale.Spec.Replicas)
}

func TestUnknownResourcesAreNotFound(t *testing.T) {
	_, client := attached(t)
	_, err := client.PolicyV1beta1().PodDisruptionBudgets("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = client.PolicyV1beta1().PodDisruptionBudgets("default").Watch(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// TestFaultsAndTheLogOfRequests shows what takes the place of reactors and of Fake.Actions.
func TestFaultsAndTheLogOfRequests(t *testing.T) {
	var seen []string
	failing := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
				http.Error(w, "quota", http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	client := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{
		Middleware: failing,
		Log:        func(r apiserver.Request) { seen = append(seen, fmt.Sprint(r.Verb, " ", r.URI, " ", r.Code)) },
	}))
	_, err := client.CoreV1().Pods("default").Create(t.Context(), podNamed("web"), metav1.CreateOptions{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	_, err = client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.Equal(t, []string{"create /api/v1/namespaces/default/pods 429", "get /api/v1/namespaces/default/pods/web 404"}, seen)
}

// TestAControllerInABubble runs a controller as they are written with client-go: an informer, a
// queue and a goroutine, all on the clock of the bubble. For each ConfigMap it makes a Deployment,
// after a minute.
func TestAControllerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := labtest.New(t, labtest.Options{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }})
		client := kubernetes.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(client, time.Hour)
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) {
				if name := obj.(*corev1.ConfigMap).Name; name != "kube-root-ca.crt" {
					queue.AddAfter(name, time.Minute)
				}
			},
		})
		require.NoError(t, err)
		pods := factory.Core().V1().Pods().Lister()
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		go func() {
			for name, shutdown := queue.Get(); !shutdown; name, shutdown = queue.Get() {
				_, err := client.AppsV1().Deployments("default").Create(ctx, newDeployment(name), metav1.CreateOptions{})
				if err != nil {
					queue.AddRateLimited(name)
				}
				queue.Done(name)
			}
		}()
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")
		began := lab.Now()
		lab.WaitCurrent(newDeployment("web"))
		require.Equal(t, time.Minute, lab.Now().Sub(began))
		synctest.Wait()
		seen, err := pods.Pods("default").List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, seen, 2)
		require.Equal(t, corev1.PodRunning, seen[0].Status.Phase)
		queue.ShutDown()
		cancel()
		factory.Shutdown()
	})
}

func TestTheDynamicClient(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(trains)
	client := dynamic.NewForConfigOrDie(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
	resource := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "trains"}).Namespace("default")
	train := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Train", "metadata": map[string]any{"name": "t", "labels": map[string]any{"line": "u1"}}, "status": map[string]any{"phase": "Moving"},
	}}
	got, err := resource.Create(t.Context(), train, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Nil(t, got.Object["status"], "it is a subresource")
	require.Equal(t, "Train", got.GetKind())
	got, err = resource.Patch(t.Context(), "t", types.MergePatchType, []byte(`{"status":{"phase":"Moving"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"phase": "Moving"}, got.Object["status"])
	found, err := resource.List(t.Context(), metav1.ListOptions{LabelSelector: "line in (u1,u2)"})
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Equal(t, "Train", found.Items[0].GetKind())
	changes, err := resource.Watch(t.Context(), metav1.ListOptions{ResourceVersion: found.GetResourceVersion()})
	require.NoError(t, err)
	defer changes.Stop()
	require.NoError(t, resource.Delete(t.Context(), "t", metav1.DeleteOptions{}))
	require.Equal(t, watch.Deleted, (<-changes.ResultChan()).Type)
}

const trains = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trains.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Train, plural: trains}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
