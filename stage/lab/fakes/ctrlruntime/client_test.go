package ctrlruntime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	stagereconcile "github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func connected(t *testing.T) (*labtest.Lab, client.WithWatch) {
	lab := labtest.New(t, labtest.Options{})
	return lab, ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{})
}

// withBoth runs a test with the client of this package, and with controller-runtime's fake client.
func withBoth(t *testing.T, test func(*testing.T, *labtest.Lab, client.WithWatch)) {
	t.Run("client", func(t *testing.T) {
		lab, c := connected(t)
		test(t, lab, c)
	})
	t.Run("fake", func(t *testing.T) {
		lab := labtest.New(t, labtest.Options{})
		funcs := ctrlruntime.Funcs(lab.Cluster(), ctrlruntime.Options{})
		test(t, lab, fake.NewClientBuilder().WithRESTMapper(ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{}).RESTMapper()).WithInterceptorFuncs(funcs).Build())
	})
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podSpec()}
}

func TestADeploymentBecomesCurrent(t *testing.T) { withBoth(t, aDeploymentBecomesCurrent) }

func aDeploymentBecomesCurrent(t *testing.T, lab *labtest.Lab, c client.WithWatch) {
	web := deployment("web")
	require.NoError(t, c.Create(t.Context(), web))
	require.NotEmpty(t, web.UID)
	require.Empty(t, web.Kind)
	lab.WaitCurrent(web)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	require.EqualValues(t, 2, web.Status.AvailableReplicas)
	labtest.RequireCurrent(t, web)
	var pods corev1.PodList
	require.NoError(t, c.List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels{"app": "web"}, client.MatchingFields{"status.phase": "Running"}))
	require.Len(t, pods.Items, 2)
	require.NoError(t, c.List(t.Context(), &pods, client.Limit(1)))
	require.Len(t, pods.Items, 1)
	require.NotEmpty(t, pods.Continue)
	require.NoError(t, c.List(t.Context(), &pods, client.Limit(1), client.Continue(pods.Continue)))
	require.Len(t, pods.Items, 1)
	require.Empty(t, pods.Continue)
}

func TestWhatAnObjectHeldIsGone(t *testing.T) { withBoth(t, whatAnObjectHeldIsGone) }

func whatAnObjectHeldIsGone(t *testing.T, _ *labtest.Lab, c client.WithWatch) {
	require.NoError(t, c.Create(t.Context(), pod("web")))
	full := pod("web")
	full.Labels, full.Spec.NodeName, full.Spec.Overhead = map[string]string{"a": "b"}, "node-9", corev1.ResourceList{"cpu": resource.MustParse("1")}
	full.Status.Conditions = []corev1.PodCondition{{Type: "Old"}}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(full), full))
	fresh := &corev1.Pod{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(full), fresh))
	require.Equal(t, fresh, full)
	list := &corev1.PodList{Items: []corev1.Pod{*pod("x"), *pod("y")}, ListMeta: metav1.ListMeta{Continue: "old"}}
	require.NoError(t, c.List(t.Context(), list))
	require.Len(t, list.Items, 1)
	require.Empty(t, list.Continue)
}

func TestStatusIsASubresource(t *testing.T) { withBoth(t, statusIsASubresource) }

func statusIsASubresource(t *testing.T, _ *labtest.Lab, c client.WithWatch) {
	web := deployment("web")
	web.Status.Replicas = 7
	require.NoError(t, c.Create(t.Context(), web))
	require.Zero(t, web.Status.Replicas)
	web.Status.Replicas, web.Spec.Replicas = 1, new(int32(5))
	require.NoError(t, c.Status().Update(t.Context(), web))
	require.EqualValues(t, 1, web.Status.Replicas)
	require.EqualValues(t, 2, *web.Spec.Replicas)
	before := web.DeepCopy()
	web.Status.ReadyReplicas = 1
	require.NoError(t, c.Status().Patch(t.Context(), web, client.MergeFrom(before)))
	require.EqualValues(t, 1, web.Status.ReadyReplicas)
	require.EqualValues(t, 1, web.Generation)
	web.Spec.Replicas = new(int32(5))
	require.NoError(t, c.Update(t.Context(), web))
	require.EqualValues(t, 2, web.Generation)
}

func TestOldVersionsConflict(t *testing.T) { withBoth(t, oldVersionsConflict) }

func oldVersionsConflict(t *testing.T, _ *labtest.Lab, c client.WithWatch) {
	old := pod("web")
	require.NoError(t, c.Create(t.Context(), old))
	next := old.DeepCopy()
	next.Labels = map[string]string{"a": "b"}
	require.NoError(t, c.Update(t.Context(), next))
	require.NotEqual(t, old.ResourceVersion, next.ResourceVersion)
	require.True(t, apierrors.IsConflict(c.Update(t.Context(), old)))
	require.Empty(t, old.Labels, "an error leaves the object alone")
	before := old.DeepCopy()
	locked := client.MergeFromWithOptions(old.DeepCopy(), client.MergeFromWithOptimisticLock{})
	old.Labels = map[string]string{"a": "c"}
	require.True(t, apierrors.IsConflict(c.Patch(t.Context(), old, locked)))
	require.NoError(t, c.Patch(t.Context(), old, client.StrategicMergeFrom(before)), "without a version")
	require.True(t, apierrors.IsAlreadyExists(c.Create(t.Context(), pod("web"))))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "other"}, old)))
}

func TestApply(t *testing.T) { withBoth(t, apply) }

func apply(t *testing.T, _ *labtest.Lab, c client.WithWatch) {
	labels := map[string]string{"tier": "front"}
	template := coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("web").WithImage("nginx")))
	spec := appsapply.DeploymentSpec().WithReplicas(1).WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).WithTemplate(template)
	web := appsapply.Deployment("web", "default").WithLabels(labels).WithSpec(spec)
	require.NoError(t, c.Apply(t.Context(), web, client.FieldOwner("a")))
	require.NotNil(t, web.UID)
	other := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "default"}, "spec": map[string]any{"replicas": int64(2)},
	}})
	require.True(t, apierrors.IsConflict(c.Apply(t.Context(), other, client.FieldOwner("b"))))
	require.NoError(t, c.Apply(t.Context(), other, client.FieldOwner("b"), client.ForceOwnership))
	status := appsapply.Deployment("web", "default").WithStatus(appsapply.DeploymentStatus().WithReplicas(2))
	require.NoError(t, c.Status().Apply(t.Context(), status, client.FieldOwner("b")))
	var got appsv1.Deployment
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &got))
	require.EqualValues(t, 2, *got.Spec.Replicas)
	require.EqualValues(t, 2, got.Status.Replicas)
}

func TestDeletions(t *testing.T) { withBoth(t, deletions) }

func deletions(t *testing.T, lab *labtest.Lab, c client.WithWatch) {
	held := pod("held")
	held.Finalizers = []string{"example.com/hold"}
	require.NoError(t, c.Create(t.Context(), held))
	require.NoError(t, c.Delete(t.Context(), held))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(held), held))
	require.False(t, held.DeletionTimestamp.IsZero())
	controllerutil.RemoveFinalizer(held, "example.com/hold")
	require.NoError(t, c.Update(t.Context(), held))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(held), held)))

	for _, name := range []string{"a", "b"} {
		require.NoError(t, c.Create(t.Context(), deployment(name)))
	}
	lab.Settle()
	require.NoError(t, c.DeleteAllOf(t.Context(), &appsv1.Deployment{}, client.InNamespace("default"), client.MatchingLabels{"app": "a"}))
	lab.Settle()
	var sets appsv1.ReplicaSetList
	require.NoError(t, c.List(t.Context(), &sets))
	require.Len(t, sets.Items, 1)
	stale := client.Preconditions{UID: &held.UID}
	require.True(t, apierrors.IsConflict(c.Delete(t.Context(), deployment("b"), stale)))
}

func TestOtherSubresources(t *testing.T) { withBoth(t, otherSubresources) }

func otherSubresources(t *testing.T, lab *labtest.Lab, c client.WithWatch) {
	web := deployment("web")
	require.NoError(t, c.Create(t.Context(), web))
	lab.WaitCurrent(web)
	scale := &autoscalingv1.Scale{}
	require.NoError(t, c.SubResource("scale").Get(t.Context(), web, scale))
	require.EqualValues(t, 2, scale.Status.Replicas)
	scale.Spec.Replicas = 3
	require.NoError(t, c.SubResource("scale").Update(t.Context(), web, client.WithSubResourceBody(scale)))
	lab.WaitCurrent(web)
	var pods corev1.PodList
	require.NoError(t, c.List(t.Context(), &pods))
	require.Len(t, pods.Items, 3)
	require.NoError(t, c.SubResource("eviction").Create(t.Context(), &pods.Items[0], &policyv1.Eviction{}))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&pods.Items[0]), &pods.Items[0]))
	require.False(t, pods.Items[0].DeletionTimestamp.IsZero())
	require.ErrorContains(t, c.SubResource("proxy").Get(t.Context(), web, scale), "Deployment has no subresource proxy here")
}

func TestUntypedObjects(t *testing.T) { withBoth(t, untypedObjects) }

func untypedObjects(t *testing.T, lab *labtest.Lab, c client.WithWatch) {
	lab.Apply(deployment("web"))
	lab.WaitCurrent()
	pods := schema.GroupVersionKind{Version: "v1", Kind: "PodList"}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(pods)
	require.NoError(t, c.List(t.Context(), partial))
	require.Len(t, partial.Items, 2)
	require.Equal(t, "Pod", partial.Items[0].Kind)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&partial.Items[0]), &partial.Items[0]))
	before := partial.Items[0].DeepCopy()
	partial.Items[0].Labels["seen"] = "true"
	require.NoError(t, c.Patch(t.Context(), &partial.Items[0], client.MergeFrom(before)))
	require.Equal(t, "Pod", partial.Items[0].Kind)
	fields := &unstructured.UnstructuredList{}
	fields.SetGroupVersionKind(pods)
	require.NoError(t, c.List(t.Context(), fields, client.MatchingLabels{"seen": "true"}))
	require.Len(t, fields.Items, 1)
	require.Equal(t, "Pod", fields.Items[0].GetKind())
	namespaced, err := c.IsObjectNamespaced(&corev1.Node{})
	require.NoError(t, err)
	require.False(t, namespaced)
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"})
	require.NoError(t, err)
	require.Equal(t, "networkpolicies", mapping.Resource.Resource)
}

func TestIndexes(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	byImage := func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.Containers[0].Image} }
	c := ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{Indexes: []ctrlruntime.Index{{Object: &corev1.Pod{}, Field: "image", Extract: byImage}}})
	other := pod("other")
	other.Spec.Containers[0].Image = "j"
	require.NoError(t, c.Create(t.Context(), pod("web")))
	require.NoError(t, c.Create(t.Context(), other))
	lab.Settle()
	var pods corev1.PodList
	require.NoError(t, c.List(t.Context(), &pods, client.MatchingFields{"image": "j", "status.phase": "Running"}))
	require.Len(t, pods.Items, 1)
	require.Equal(t, "other", pods.Items[0].Name)
	require.ErrorContains(t, c.List(t.Context(), &pods, client.MatchingFields{"colour": "red"}), "field label not supported: colour")
}

func TestWatchAndInterceptors(t *testing.T) { withBoth(t, watchAndInterceptors) }

func watchAndInterceptors(t *testing.T, _ *labtest.Lab, c client.WithWatch) {
	changes, err := c.Watch(t.Context(), &corev1.PodList{}, client.InNamespace("default"))
	require.NoError(t, err)
	defer changes.Stop()
	failing := interceptor.NewClient(c, interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
		return errors.New("no")
	}})
	require.NoError(t, failing.Create(t.Context(), pod("web")))
	require.EqualError(t, failing.Delete(t.Context(), pod("web")), "no")
	require.NoError(t, c.Delete(t.Context(), pod("web")))
	e := <-changes.ResultChan()
	require.Equal(t, watch.Added, e.Type)
	require.Equal(t, "web", e.Object.(*corev1.Pod).Name)
	e = <-changes.ResultChan()
	for e.Type == watch.Modified {
		e = <-changes.ResultChan()
	}
	require.Equal(t, watch.Deleted, e.Type)
}

// A keeper keeps a ConfigMap for each Pod and looks again after a minute.
type keeper struct {
	client.Client
	at    []time.Duration
	start time.Time
	lab   *labtest.Lab
	fails error
}

func (k *keeper) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	k.at = append(k.at, k.lab.Now().Sub(k.start))
	var web corev1.Pod
	if err := k.Get(ctx, r.NamespacedName, &web); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, k, m, func() error { return controllerutil.SetControllerReference(&web, m, k.Scheme()) })
	return reconcile.Result{RequeueAfter: time.Minute}, errors.Join(err, k.fails)
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{}
	pods, configMaps := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	k.lab = labtest.New(t, labtest.Options{Operator: func(c *memory.Cluster) []stagereconcile.Controller {
		k.Client = ctrlruntime.New(c, ctrlruntime.Options{})
		return []stagereconcile.Controller{ctrlruntime.Controller(k, pods, configMaps)}
	}})
	k.start = k.lab.Now()
	return k
}

func TestReconcilersRunInVirtualTime(t *testing.T) {
	k := newKeeper(t)
	k.lab.Apply(pod("web"))
	k.lab.Advance(2 * time.Minute)
	last := k.at[len(k.at)-1]
	require.Equal(t, 2*time.Minute, last)
	m := &corev1.ConfigMap{}
	require.NoError(t, k.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, m))
	require.Equal(t, "Pod", m.OwnerReferences[0].Kind)

	calls := len(k.at)
	require.NoError(t, k.Delete(t.Context(), m))
	k.lab.Advance(0)
	require.Greater(t, len(k.at), calls, "the loss of what it owns wakes it")
	require.NoError(t, k.Get(t.Context(), client.ObjectKeyFromObject(m), m))
}

func TestTerminalErrorsAreNotTriedAgain(t *testing.T) {
	k := newKeeper(t)
	k.fails = reconcile.TerminalError(errors.New("never"))
	k.lab.Apply(pod("web"))
	k.lab.Settle()
	require.Equal(t, time.Duration(0), k.at[len(k.at)-1])
}

// TestAWatchThatNobodyReadsEnds would be a deadlock of the bubble if it did not.
func TestAWatchThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := connected(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Watch(ctx, &corev1.NodeList{})
		require.NoError(t, err)
		synctest.Wait() // an event waits to be read
		cancel()
	})
}

// TestInABubble waits for Pods with a watch in another goroutine.
func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab, c := connected(t)
		changes, err := c.Watch(t.Context(), &corev1.PodList{})
		require.NoError(t, err)
		running := map[string]bool{}
		go func() {
			for e := range changes.ResultChan() {
				p := e.Object.(*corev1.Pod)
				running[p.Name] = p.Status.Phase == corev1.PodRunning
			}
		}()
		require.NoError(t, c.Create(t.Context(), deployment("web")))
		lab.WaitCurrent(deployment("web"))
		synctest.Wait()
		require.Len(t, running, 2)
		require.NotContains(t, running, false)
		changes.Stop()
	})
}
