package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // the default one sleeps for as long as the last bubble was ahead
	m.Run()
}

// theirs plays a scenario with the controller of kube-controller-manager.
type theirs struct {
	t       *testing.T
	ctx     context.Context
	client  *fake.Clientset
	play    *play
	history history

	mutex        sync.Mutex
	spec, status int32
	version      int
	events       int
}

func playTheirs(t *testing.T, s scenario) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &theirs{t: t, ctx: ctx, client: fake.NewClientset(), spec: s.replicas, status: s.replicas, history: newHistory(time.Now())}
		w.play = &play{world: w, pods: map[string]*corev1.Pod{}}
		w.client.PrependReactor("create", "events", w.createEvent)
		factory := informers.NewSharedInformerFactory(w.client, 0)
		running := w.run(factory)
		synctest.Wait()
		start := time.Now()
		w.history.note(start, "replicas", fmt.Sprint(s.replicas))
		for _, step := range s.steps {
			time.Sleep(step.at - time.Since(start))
			step.do(w.play)
			synctest.Wait()
		}
		time.Sleep(s.length - time.Since(start))
		synctest.Wait()
		w.noteEvents()
		lines = w.history.lines()
		cancel()
		running.Wait()
		factory.Shutdown()
		time.Sleep(time.Hour)
	})
	return lines
}

func (w *theirs) run(f informers.SharedInformerFactory) *sync.WaitGroup {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", "deployments", w.getScale)
	scales.AddReactor("update", "deployments", w.updateScale)
	hpas := f.Autoscaling().V2().HorizontalPodAutoscalers()
	controller := podautoscaler.NewHorizontalController(w.ctx, w.client.CoreV1(), scales, w.client.AutoscalingV2(), meta.MultiRESTMapper{mapper}, apis{w},
		hpas, f.Core().V1().Pods(), 15*time.Second, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	_, err := hpas.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: w.note, UpdateFunc: func(_, obj any) { w.note(obj) },
	})
	require.NoError(w.t, err)
	f.Start(w.ctx.Done())
	f.WaitForCacheSync(w.ctx.Done())
	var all sync.WaitGroup
	all.Go(func() { controller.Run(w.ctx, 5) })
	return &all
}

func (w *theirs) note(obj any) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(w.t, err)
	w.history.noteStatus(time.Now(), raw)
}

// createEvent gives each Event a different name, because Events of the same instant have the same
// name.
func (w *theirs) createEvent(a clienttesting.Action) (bool, runtime.Object, error) {
	event := a.(clienttesting.CreateAction).GetObject().(*corev1.Event).DeepCopy()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.events++
	event.Name += fmt.Sprint("-", w.events)
	return true, event, w.client.Tracker().Add(event)
}

func (w *theirs) noteEvents() {
	events, err := w.client.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		w.history.noteEvent(e.InvolvedObject.Name, e.Type, e.Reason, e.Message, int64(e.Count))
	}
}

func (w *theirs) getScale(a clienttesting.Action) (bool, runtime.Object, error) {
	name := a.(clienttesting.GetAction).GetName()
	if name != "web" {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments/scale"}, name)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return true, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: w.spec},
		Status:     autoscalingv1.ScaleStatus{Replicas: w.status, Selector: "app=web"},
	}, nil
}

func (w *theirs) updateScale(a clienttesting.Action) (bool, runtime.Object, error) {
	scale := a.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
	w.setSpecReplicas(scale.Spec.Replicas)
	return true, scale, nil
}

func (w *theirs) now() time.Time { return time.Now() }

func (w *theirs) setStatusReplicas(n int32) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.status = n
}

func (w *theirs) setSpecReplicas(n int32) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.spec = n
	w.history.note(time.Now(), "replicas", fmt.Sprint(n))
}

func (w *theirs) specReplicas() int32 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.spec
}

func (w *theirs) putPod(pod *corev1.Pod) {
	w.version++
	pod.ResourceVersion = fmt.Sprint(w.version)
	if _, err := w.client.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{}); err != nil {
		_, err = w.client.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
}

func (w *theirs) terminatePod(name string) {
	pod, err := w.client.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	w.putPod(pod)
}

func (w *theirs) deletePod(name string) {
	require.NoError(w.t, w.client.CoreV1().Pods("default").Delete(w.ctx, name, metav1.DeleteOptions{}))
}

func (w *theirs) putAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	defaults.SetDefaults_HorizontalPodAutoscaler(hpa)
	hpas := w.client.AutoscalingV2().HorizontalPodAutoscalers("default")
	if old, err := hpas.Get(w.ctx, hpa.Name, metav1.GetOptions{}); err == nil {
		old.Spec = hpa.Spec
		_, err = hpas.Update(w.ctx, old, metav1.UpdateOptions{})
		require.NoError(w.t, err)
		return
	}
	_, err := hpas.Create(w.ctx, hpa, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *theirs) deleteAutoscaler(name string) {
	err := w.client.AutoscalingV2().HorizontalPodAutoscalers("default").Delete(w.ctx, name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
}

// apis answers as the metrics APIs do.
type apis struct{ *theirs }

var errMetrics = errors.New("the server is currently unable to handle the request")

func (w apis) ask(api string) (measured, error) {
	m := w.play.metrics
	switch {
	case m.failing:
		return m, errMetrics
	case m.missing:
		return m, errors.New("no metrics returned from " + api + " metrics API")
	}
	return m, nil
}

func (w apis) perPod(api string) (metrics.PodMetricsInfo, time.Time, error) {
	m, err := w.ask(api)
	if err != nil {
		return nil, time.Time{}, err
	}
	info := metrics.PodMetricsInfo{}
	for name := range w.play.pods {
		if s, ok := m.pods[name]; ok {
			info[name] = metrics.PodMetric{Timestamp: time.Now().Add(-s.age), Window: s.window, Value: s.value}
		}
	}
	if len(info) == 0 {
		err = errors.New("no metrics returned from " + api + " metrics API")
	}
	return info, time.Now(), err
}

func (w apis) GetResourceMetric(context.Context, corev1.ResourceName, string, labels.Selector, string) (metrics.PodMetricsInfo, time.Time, error) {
	return w.perPod("resource")
}

func (w apis) GetRawMetric(string, string, labels.Selector, labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return w.perPod("custom")
}

func (w apis) GetObjectMetric(string, string, *autoscalingv2.CrossVersionObjectReference, labels.Selector) (int64, time.Time, error) {
	m, err := w.ask("custom")
	return m.total[0], time.Now(), err
}

func (w apis) GetExternalMetric(string, string, labels.Selector) ([]int64, time.Time, error) {
	m, err := w.ask("external")
	return m.total, time.Now(), err
}
