package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
)

// theirs is kube-scheduler 1.36 in this process, which makes one decision at a time.
type theirs struct {
	t      testing.TB
	ctx    context.Context
	client *fake.Clientset
	sched  *scheduler.Scheduler
	events *events.FakeRecorder
	scores *scoreLog
	nodes  int
}

func newTheirs(t testing.TB, objects ...runtime.Object) *theirs {
	o := &theirs{t: t, client: fake.NewClientset(objects...), events: events.NewFakeRecorder(1000), scores: &scoreLog{}}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.New(o.scores)))
	t.Cleanup(cancel)
	o.ctx = ctx
	o.client.PrependReactor("create", "pods", o.bind)
	factory := scheduler.NewInformerFactory(o.client, 0)
	var err error
	o.sched, err = scheduler.New(ctx, o.client, factory, nil, func(string) events.EventRecorderLogger { return o.events },
		scheduler.WithPodInitialBackoffSeconds(0), scheduler.WithPodMaxBackoffSeconds(0), scheduler.WithParallelism(1))
	require.NoError(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	require.NoError(t, o.sched.WaitForHandlersSync(ctx))
	o.sched.SchedulingQueue.Run(klog.FromContext(ctx))
	return o
}

// bind does what the API server does with a Binding.
func (o *theirs) bind(a clienttesting.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "binding" {
		return false, nil, nil
	}
	b := a.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	obj, err := o.client.Tracker().Get(pods, b.Namespace, b.Name)
	if err != nil {
		return true, nil, err
	}
	p := obj.(*corev1.Pod).DeepCopy()
	p.Spec.NodeName = b.Target.Name
	return true, b, o.client.Tracker().Update(pods, p, b.Namespace)
}

func (o *theirs) until(what string, ok func() bool) {
	for range 20_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(o.t, "kube-scheduler did not come to it", what)
}

// schedule creates a Pod and returns what is decided about it.
func (o *theirs) schedule(p *corev1.Pod) decision {
	before := o.names()
	_, err := o.client.CoreV1().Pods(p.Namespace).Create(o.ctx, p, metav1.CreateOptions{})
	require.NoError(o.t, err)
	o.until("queue", func() bool { _, ok := o.sched.SchedulingQueue.GetPod(p.Name, p.Namespace); return ok })
	o.scores.reset()
	o.sched.ScheduleOne(o.ctx)
	d := decision{scores: o.scores.weighted()}
	o.until("event", func() bool { return o.outcome(&d) })
	if d.node != "" {
		o.until("binding", func() bool { return o.pod(p.Name).Spec.NodeName != "" })
		return d
	}
	o.until("condition", func() bool { return len(o.pod(p.Name).Status.Conditions) > 0 })
	got := o.pod(p.Name)
	d.message, d.nominated = got.Status.Conditions[0].Message, got.Status.NominatedNodeName
	if d.nominated != "" {
		for again := (decision{}); again.node == ""; { // until it has seen that the victims are gone
			o.until("another try", func() bool { return o.activate(got) })
			o.sched.ScheduleOne(o.ctx)
			o.until("event of a nominated Pod", func() bool { return o.outcome(&again) })
		}
		o.until("binding of a nominated Pod", func() bool { return o.pod(p.Name).Spec.NodeName != "" })
		d.victims = missing(before, o.names())
		return d
	}
	require.NoError(o.t, o.client.CoreV1().Pods(p.Namespace).Delete(o.ctx, p.Name, metav1.DeleteOptions{}))
	o.until("leaving the queue", func() bool { _, ok := o.sched.SchedulingQueue.GetPod(p.Name, p.Namespace); return !ok })
	return d
}

// activate puts a Pod that waits for something into the active queue. ScheduleOne blocks where that
// is empty, and what the Pod waits for may have come already.
func (o *theirs) activate(p *corev1.Pod) bool {
	o.sched.SchedulingQueue.Activate(klog.FromContext(o.ctx), map[string]*corev1.Pod{p.Name: p})
	return len(o.sched.SchedulingQueue.PodsInActiveQ()) > 0
}

// outcome reads Events until one says how the cycle ended.
func (o *theirs) outcome(d *decision) bool {
	for {
		select {
		case e := <-o.events.Events:
			if _, node, ok := strings.Cut(e, " to "); ok && strings.HasPrefix(e, "Normal Scheduled") {
				d.node = node
				return true
			}
			if strings.HasPrefix(e, "Warning FailedScheduling") {
				return true
			}
		default:
			return false
		}
	}
}

// create creates an object and waits until the scheduler knows it: the order in which it gets to know
// Nodes decides ties.
func (o *theirs) create(obj runtime.Object) {
	require.NoError(o.t, o.client.Tracker().Add(obj))
	switch obj := obj.(type) {
	case *corev1.Node:
		o.until("node", func() bool { return o.sched.Cache.NodeCount() > o.nodes })
		o.nodes++
	case *corev1.Pod:
		o.until("pod", func() bool { _, err := o.sched.Cache.GetPod(obj); return err == nil })
	}
}

func (o *theirs) pod(name string) *corev1.Pod {
	p, err := o.client.CoreV1().Pods("default").Get(o.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return p
}

// names returns which Pods there are.
func (o *theirs) names() map[string]bool {
	list, err := o.client.CoreV1().Pods("default").List(o.ctx, metav1.ListOptions{})
	require.NoError(o.t, err)
	names := map[string]bool{}
	for _, p := range list.Items {
		names[p.Name] = true
	}
	return names
}

func missing(before, after map[string]bool) (gone []string) {
	for name := range before {
		if !after[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// A scoreLog is a log in which kube-scheduler writes the scores of each plugin.
type scoreLog struct {
	mu     sync.Mutex
	scores map[string]map[string]int64
}

func (l *scoreLog) Init(logr.RuntimeInfo)          {}
func (l *scoreLog) Enabled(level int) bool         { return level >= 10 }
func (l *scoreLog) Error(error, string, ...any)    {}
func (l *scoreLog) WithValues(...any) logr.LogSink { return l }
func (l *scoreLog) WithName(string) logr.LogSink   { return l }
func (l *scoreLog) Info(_ int, message string, kv ...any) {
	if message != "Plugin scored node for pod" {
		return
	}
	values := map[string]any{}
	for i := 0; i+1 < len(kv); i += 2 {
		values[fmt.Sprint(kv[i])] = kv[i+1]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	plugin := fmt.Sprint(values["plugin"])
	if l.scores[plugin] == nil {
		l.scores[plugin] = map[string]int64{}
	}
	l.scores[plugin][fmt.Sprint(values["node"])] = values["score"].(int64)
}

func (l *scoreLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scores = map[string]map[string]int64{}
}

func (l *scoreLog) weighted() map[string]map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scores
}
