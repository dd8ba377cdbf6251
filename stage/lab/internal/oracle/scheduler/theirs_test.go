package scheduler

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
)

// TestMain starts the one goroutine of os/signal outside of all bubbles, and leaves out error
// handlers that wait by the real clock.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	m.Run()
}

// theirs is kube-scheduler 1.36 with its queues, in the virtual time of a bubble.
type theirs struct {
	t       *testing.T
	ctx     context.Context
	client  *fake.Clientset
	tracker *versioned
	start   time.Time

	mu      sync.Mutex
	history *history
	binding map[string]string // the Nodes of Pods whose claims must be bound
}

func playTheirs(t *testing.T, s scenario) *history {
	o := &theirs{t: t, history: newHistory(), binding: map[string]string{}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.New(scoreLog{o})))
		o.ctx = ctx
		o.client = fake.NewSimpleClientset()
		o.tracker = &versioned{ObjectTracker: o.client.Tracker()}
		o.client.PrependReactor("*", "*", clienttesting.ObjectReaction(o.tracker))
		o.client.PrependReactor("create", "pods", o.bind)
		o.client.PrependReactor("delete", "pods", o.deleteGracefully)
		factory := scheduler.NewInformerFactory(o.client, 0)
		sched, err := scheduler.New(ctx, slowClient{o.client}, factory, nil, func(string) events.EventRecorderLogger { return recorder{o} }, scheduler.WithParallelism(1))
		require.NoError(t, err)
		_, err = factory.Core().V1().Pods().Informer().AddEventHandler(o)
		require.NoError(t, err)
		o.bindClaims(factory)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		require.NoError(t, sched.WaitForHandlersSync(ctx))
		o.start = time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(o.start))
		var running sync.WaitGroup
		running.Go(func() { sched.Run(ctx) })
		o.play(s)
		cancel()
		running.Wait()
		factory.Shutdown()
		time.Sleep(time.Hour)
	})
	return o.history
}

// bindClaims has a binder look at claims and volumes.
func (o *theirs) bindClaims(factory informers.SharedInformerFactory) {
	b := newBinder(func(after time.Duration, s step) { time.AfterFunc(after, func() { o.do(s) }) })
	look := func(obj any) {
		o.mu.Lock()
		defer o.mu.Unlock()
		switch obj := obj.(type) {
		case *corev1.PersistentVolumeClaim:
			o.history.note(time.Since(o.start), "claim:"+nameOf(obj), stateOfClaim(obj))
			b.onClaim(obj)
		case *corev1.PersistentVolume:
			b.onVolume(obj)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, obj any) { look(obj) }}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().PersistentVolumes().Informer()} {
		_, err := informer.AddEventHandler(handler)
		require.NoError(o.t, err)
	}
}

func (o *theirs) play(s scenario) {
	for _, obj := range s.objects {
		o.create(obj.DeepCopyObject())
		synctest.Wait() // the order in which the scheduler gets to know Nodes decides ties
	}
	for _, step := range s.steps {
		time.Sleep(time.Until(o.start.Add(step.at)))
		o.do(step)
		synctest.Wait()
	}
	time.Sleep(time.Until(o.start.Add(s.length)))
	synctest.Wait()
}

func (o *theirs) do(s step) {
	gvr, _ := meta.UnsafeGuessKindToResource(s.kind)
	var err error
	switch {
	case s.create != nil:
		o.create(s.create.DeepCopyObject())
	case s.patch == "":
		action := clienttesting.NewDeleteAction(gvr, s.namespace, s.name)
		_, err = o.client.Invokes(action, nil)
	default:
		action := clienttesting.NewPatchAction(gvr, s.namespace, s.name, types.MergePatchType, []byte(s.patch))
		_, err = o.client.Invokes(action, nil)
	}
	_ = err // the object to change might be gone
}

func (o *theirs) create(obj runtime.Object) {
	if p, ok := obj.(*corev1.Pod); ok {
		o.admit(p)
	}
	_ = o.tracker.Add(obj) // it may exist
}

// admit does what the API server does: it resolves the PriorityClass and sets defaults.
func (o *theirs) admit(p *corev1.Pod) {
	if name := p.Spec.PriorityClassName; name != "" {
		class, err := o.client.SchedulingV1().PriorityClasses().Get(o.ctx, name, metav1.GetOptions{})
		if err == nil {
			p.Spec.Priority = &class.Value
		}
		if err == nil && p.Spec.PreemptionPolicy == nil {
			p.Spec.PreemptionPolicy = class.PreemptionPolicy
		}
	}
	if ports := p.Spec.Containers[0].Ports; p.Spec.HostNetwork && len(ports) > 0 {
		ports[0].HostPort = ports[0].ContainerPort
	}
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates"})
	}
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// bind does what the API server does with a Binding.
func (o *theirs) bind(a clienttesting.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "binding" {
		return false, nil, nil
	}
	b := a.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	obj, err := o.tracker.Get(podResource, b.Namespace, b.Name)
	if err != nil {
		return true, nil, err
	}
	p := obj.(*corev1.Pod).DeepCopy()
	p.Spec.NodeName, p.Status.NominatedNodeName = b.Target.Name, ""
	p.Status.Conditions = append(without(p.Status.Conditions, corev1.PodScheduled), corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	return true, b, o.tracker.Update(podResource, p, b.Namespace)
}

func without(list []corev1.PodCondition, what corev1.PodConditionType) (rest []corev1.PodCondition) {
	for _, c := range list {
		if c.Type != what {
			rest = append(rest, c)
		}
	}
	return rest
}

// deleteGracefully does what the API server and a kubelet do with a Pod that runs.
func (o *theirs) deleteGracefully(a clienttesting.Action) (bool, runtime.Object, error) {
	d := a.(clienttesting.DeleteActionImpl)
	obj, err := o.tracker.Get(podResource, d.Namespace, d.Name)
	if err != nil {
		return true, nil, err
	}
	p := obj.(*corev1.Pod).DeepCopy()
	grace := time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second
	if p.Spec.NodeName == "" || grace == 0 {
		time.AfterFunc(latency, func() { _ = o.tracker.Delete(podResource, d.Namespace, d.Name) })
		return true, nil, nil
	}
	if p.DeletionTimestamp != nil {
		return true, p, nil
	}
	at := metav1.NewTime(time.Now().Add(grace).Truncate(time.Second))
	p.DeletionTimestamp = &at
	time.AfterFunc(time.Until(at.Add(untilGone)), func() { _ = o.tracker.Delete(podResource, d.Namespace, d.Name) })
	return true, p, o.tracker.Update(podResource, p, d.Namespace)
}

// untilGone is how long a kubelet takes from the deletionTimestamp on.
const untilGone = 900 * time.Millisecond

// OnAdd, OnUpdate and OnDelete record the changes of Pods.
func (o *theirs) OnAdd(obj any, _ bool) { o.note(obj, "") }
func (o *theirs) OnUpdate(_, obj any)   { o.note(obj, "") }
func (o *theirs) OnDelete(obj any)      { o.note(obj, "gone") }

var _ cache.ResourceEventHandler = &theirs{}

func (o *theirs) note(obj any, state string) {
	p := obj.(*corev1.Pod)
	if state == "" {
		state = stateOf(p)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.history.note(time.Since(o.start), nameOf(p), state)
	if node := p.Status.NominatedNodeName; node != "" {
		o.binding[nameOf(p)] = node
	}
}

// A recorder takes the Events of kube-scheduler.
type recorder struct{ o *theirs }

func (r recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func (r recorder) Eventf(about, related runtime.Object, _, reason, _, note string, args ...any) {
	if len(args) > 0 {
		note = fmt.Sprintf(note, args...)
	}
	r.o.mu.Lock()
	defer r.o.mu.Unlock()
	pod := nameOf(about.(*corev1.Pod))
	_, node, _ := strings.Cut(note, " to ")
	switch {
	case reason == "Scheduled":
		r.o.history.end(pod, "to "+node)
	case strings.HasPrefix(note, "running PreBind plugin"): // the cycle was successful
		r.o.history.end(pod, "to "+r.o.binding[pod])
	case reason == "FailedScheduling":
		r.o.history.end(pod, note)
	}
}

// versioned gives objects resourceVersions: kube-scheduler ignores updates without.
type versioned struct {
	clienttesting.ObjectTracker
	version atomic.Int64
}

func (v *versioned) next(obj runtime.Object) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	accessor.SetResourceVersion(strconv.FormatInt(v.version.Add(1), 10))
}

func (v *versioned) Add(obj runtime.Object) error {
	v.next(obj)
	return v.ObjectTracker.Add(obj)
}

func (v *versioned) Create(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.CreateOptions) error {
	v.next(obj)
	return v.ObjectTracker.Create(gvr, obj, ns, o...)
}

// Update does nothing if the object does not change, like the API server.
func (v *versioned) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.UpdateOptions) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if old, err := v.Get(gvr, ns, accessor.GetName()); err == nil {
		accessor.SetResourceVersion(old.(metav1.Object).GetResourceVersion())
		if equality.Semantic.DeepEqual(old, obj) {
			return nil
		}
	}
	v.next(obj)
	return v.ObjectTracker.Update(gvr, obj, ns, o...)
}

func (v *versioned) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.PatchOptions) error {
	v.next(obj)
	return v.ObjectTracker.Patch(gvr, obj, ns, o...)
}

// A scoreLog is a log in which kube-scheduler writes when it tries a Pod, and the scores of plugins.
type scoreLog struct{ o *theirs }

func (l scoreLog) Init(logr.RuntimeInfo)          {}
func (l scoreLog) Enabled(level int) bool         { return level == 3 || level >= 10 }
func (l scoreLog) Error(error, string, ...any)    {}
func (l scoreLog) WithValues(...any) logr.LogSink { return l }
func (l scoreLog) WithName(string) logr.LogSink   { return l }
func (l scoreLog) Info(_ int, message string, kv ...any) {
	switch message {
	case "Attempting to schedule pod":
		time.Sleep(cycleTime)
		l.o.mu.Lock()
		defer l.o.mu.Unlock()
		l.o.history.attempts = append(l.o.history.attempts, attempt{at: time.Since(l.o.start), pod: fmt.Sprint(kv[1]), scores: map[string]map[string]int64{}})
	case "Plugin scored node for pod":
		l.score(kv)
	}
}

func (l scoreLog) score(kv []any) {
	values := map[string]any{}
	for i := 0; i+1 < len(kv); i += 2 {
		values[kv[i].(string)] = kv[i+1]
	}
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	scores, plugin := l.o.history.attempts[len(l.o.history.attempts)-1].scores, values["plugin"].(string)
	if scores[plugin] == nil {
		scores[plugin] = map[string]int64{}
	}
	scores[plugin][values["node"].(string)] = values["score"].(int64)
}
