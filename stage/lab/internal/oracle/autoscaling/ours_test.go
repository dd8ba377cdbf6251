package autoscaling

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	hpaKind        = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	web            = types.NamespacedName{Namespace: "default", Name: "web"}
)

// ours plays a scenario with our controller.
type ours struct {
	t       *testing.T
	sim     *simulation.Simulation
	play    *play
	history history
}

func playOurs(t *testing.T, s scenario) []string {
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	w := &ours{t: t}
	w.play = &play{world: w, pods: map[string]*corev1.Pod{}}
	w.sim, err = simulation.New(set, simulation.Options{
		Start: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Reconcile: reconcile.Options{Events: true},
		Controllers: []reconcile.Controller{autoscaling.HorizontalPodAutoscalers(autoscaling.Options{Metrics: w.metrics})},
	})
	require.NoError(t, err)
	start := w.sim.Now()
	w.history = newHistory(start)
	w.load(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: %[1]d, selector: {matchLabels: {app: web}}}
status: {replicas: %[1]d}
`, s.replicas))
	require.NoError(t, w.sim.On(hpaKind, w.note))
	require.NoError(t, w.sim.On(deploymentKind, w.noteReplicas))
	for _, step := range s.steps {
		w.sim.At(start.Add(step.at), func(context.Context) error {
			step.do(w.play)
			return nil
		})
	}
	require.NoError(t, w.sim.Advance(context.Background(), s.length))
	w.noteEvents()
	return w.history.lines()
}

func (w *ours) load(text string) {
	require.NoError(w.t, w.sim.Cluster().Load(context.Background(), []byte(text)))
}

func (w *ours) note(_ context.Context, e watch.Event) error {
	if e.Type != watch.Deleted {
		w.history.noteStatus(w.sim.Now(), e.Object.(*unstructured.Unstructured).Object)
	}
	return nil
}

func (w *ours) noteReplicas(context.Context, watch.Event) error {
	w.history.note(w.sim.Now(), "replicas", fmt.Sprint(w.specReplicas()))
	return nil
}

func (w *ours) noteEvents() {
	events, err := w.sim.Cluster().List(context.Background(), eventKind, "default", metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		count, _, _ := unstructured.NestedInt64(e.Object, "count")
		w.history.noteEvent(about, fmt.Sprint(e.Object["type"]), fmt.Sprint(e.Object["reason"]), fmt.Sprint(e.Object["message"]), count)
	}
}

func (w *ours) now() time.Time { return w.sim.Now() }

func (w *ours) replicas(field string) int32 {
	obj, err := w.sim.Cluster().Get(context.Background(), deploymentKind, web)
	require.NoError(w.t, err)
	n, _, _ := unstructured.NestedInt64(obj.Object, field, "replicas")
	return int32(n)
}

func (w *ours) setReplicas(field string, n int32, subresource ...string) {
	data := fmt.Appendf(nil, `{"%s": {"replicas": %d}}`, field, n)
	_, err := w.sim.Cluster().Patch(context.Background(), deploymentKind, web, types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
	require.NoError(w.t, err)
}

func (w *ours) specReplicas() int32       { return w.replicas("spec") }
func (w *ours) setSpecReplicas(n int32)   { w.setReplicas("spec", n) }
func (w *ours) setStatusReplicas(n int32) { w.setReplicas("status", n, "status") }

func (w *ours) put(kind schema.GroupVersionKind, obj any, subresources ...string) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(w.t, err)
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(u.Object, "metadata", "uid")
	if _, err := w.sim.Cluster().Get(context.Background(), kind, types.NamespacedName{Namespace: "default", Name: u.GetName()}); apierrors.IsNotFound(err) {
		data, err := u.MarshalJSON()
		require.NoError(w.t, err)
		w.load(string(data))
		return
	}
	_, err = w.sim.Cluster().Update(context.Background(), u, metav1.UpdateOptions{}, subresources...)
	require.NoError(w.t, err)
}

func (w *ours) putPod(pod *corev1.Pod) { w.put(podKind, pod, "status") }

func (w *ours) terminatePod(name string) {
	require.NoError(w.t, w.sim.Cluster().Delete(context.Background(), podKind, types.NamespacedName{Namespace: "default", Name: name}, metav1.DeleteOptions{}))
}

func (w *ours) deletePod(name string) {
	key := types.NamespacedName{Namespace: "default", Name: name}
	_, err := w.sim.Cluster().Patch(context.Background(), podKind, key, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	require.NoError(w.t, err)
	err = w.sim.Cluster().Delete(context.Background(), podKind, key, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
}

func (w *ours) putAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) { w.put(hpaKind, hpa) }

func (w *ours) deleteAutoscaler(name string) {
	err := w.sim.Cluster().Delete(context.Background(), hpaKind, types.NamespacedName{Namespace: "default", Name: name}, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
}

// metrics returns the values that the scenario measures.
func (w *ours) metrics(q autoscaling.Query) (values []autoscaling.Value, err error) {
	m := w.play.metrics
	switch {
	case m.failing:
		return nil, errMetrics
	case m.missing:
		return nil, nil
	case q.Type == "Object":
		m.total = m.total[:1]
		fallthrough
	case q.Type == "External":
		for _, n := range m.total {
			values = append(values, autoscaling.Value{Quantity: *resource.NewMilliQuantity(n, resource.DecimalSI)})
		}
		return values, nil
	}
	for _, pod := range q.Pods {
		if s, ok := m.pods[pod.GetName()]; ok {
			values = append(values, autoscaling.Value{
				Pod: pod.GetName(), Quantity: *resource.NewMilliQuantity(s.value, resource.DecimalSI), Time: q.Now.Add(-s.age), Window: s.window,
			})
		}
	}
	return values, nil
}
