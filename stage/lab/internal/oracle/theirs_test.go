package oracle

import (
	"context"
	"io"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
)

// TestMain lets goroutines run on one processor. On several, those of Kubernetes' controller that are due at the same
// instant run in any order, and a scenario has several outcomes: a taint is replaced in one pass or with the next one.
func TestMain(m *testing.M) {
	goruntime.GOMAXPROCS(1)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	m.Run()
}

// theirs plays a scenario with the controllers of kube-controller-manager.
type theirs struct {
	ctx     context.Context
	client  *fake.Clientset
	s       scenario
	history *history
	start   time.Time
	stopped map[string]bool
}

func playTheirs(t *testing.T, s scenario) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		p := &theirs{ctx: ctx, s: s, history: newHistory(), start: time.Now(), stopped: map[string]bool{}}
		var objs []runtime.Object
		for _, n := range s.nodes {
			objs = append(objs, newNode(n.name, n.zone))
		}
		for _, pod := range s.pods {
			objs = append(objs, newPod(pod))
		}
		p.client = fake.NewClientset(objs...)
		p.client.PrependReactor("delete", "pods", p.deleteGracefully)
		factory := informers.NewSharedInformerFactory(p.client, 0)
		running := p.run(t, factory)
		p.play()
		lines = p.history.lines()
		cancel()
		running.Wait()
		factory.Shutdown()
		time.Sleep(time.Hour) // timers of the controllers
	})
	return lines
}

// run runs the controllers.
func (p *theirs) run(t *testing.T, f informers.SharedInformerFactory) *sync.WaitGroup {
	lifecycle, err := nodelifecycle.NewNodeLifecycleController(p.ctx, f.Coordination().V1().Leases(), f.Core().V1().Pods(), f.Core().V1().Nodes(),
		f.Apps().V1().DaemonSets(), withREST{p.client}, monitorPeriod, 60*time.Second, 50*time.Second, 0.1, 0.01, 50, 0.55)
	if err != nil {
		t.Fatal(err)
	}
	eviction, err := tainteviction.New(p.ctx, p.client, f.Core().V1().Pods(), f.Core().V1().Nodes(), "taint-eviction-controller")
	if err != nil {
		t.Fatal(err)
	}
	gc := podgc.NewPodGCInternal(p.ctx, p.client, f.Core().V1().Pods(), f.Core().V1().Nodes(), 12500, gcPeriod, quarantine)
	for _, informer := range []cache.SharedIndexInformer{f.Core().V1().Nodes().Informer(), f.Core().V1().Pods().Informer()} {
		if _, err := informer.AddEventHandler(p); err != nil {
			t.Fatal(err)
		}
	}
	f.Start(p.ctx.Done())
	f.WaitForCacheSync(p.ctx.Done())
	var all sync.WaitGroup
	all.Go(func() { lifecycle.Run(p.ctx) })
	all.Go(func() { eviction.Run(p.ctx) })
	all.Go(func() { gc.Run(p.ctx) })
	return &all
}

// OnAdd, OnUpdate and OnDelete record the changes of objects.
func (p *theirs) OnAdd(obj any, _ bool) { p.note(obj, "") }
func (p *theirs) OnUpdate(_, obj any)   { p.note(obj, "") }
func (p *theirs) OnDelete(obj any)      { p.note(obj, "gone") }

func (p *theirs) note(obj any, state string) {
	kind := "Node"
	if _, ok := obj.(*corev1.Pod); ok {
		kind = "Pod"
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	if state == "" {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			panic(err)
		}
		state = describe(raw)
	}
	p.history.note(time.Since(p.start), kind+" "+accessor.GetName(), state)
}

// deleteGracefully keeps Pods with a grace period, as an API server does.
func (p *theirs) deleteGracefully(a clienttesting.Action) (bool, runtime.Object, error) {
	d := a.(clienttesting.DeleteActionImpl)
	if g := d.DeleteOptions.GracePeriodSeconds; g != nil && *g == 0 {
		return false, nil, nil
	}
	obj, err := p.client.Tracker().Get(a.GetResource(), a.GetNamespace(), d.Name)
	if err != nil {
		return true, nil, err
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	if now := metav1.Now(); pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &now
	}
	return true, nil, p.client.Tracker().Update(a.GetResource(), pod, a.GetNamespace())
}

// play acts as kubelets and users, until the end.
func (p *theirs) play() {
	steps := p.s.steps
	for {
		at, do := p.s.length, func() {}
		if len(steps) > 0 && steps[0].at < at {
			at, do = steps[0].at, func() { p.do(steps[0]); steps = steps[1:] }
		}
		for i, n := range p.s.nodes {
			if next := p.nextRenewal(i); next < at {
				at, do = next, func() { p.renew(n.name) }
			}
		}
		time.Sleep(at - time.Since(p.start))
		do()
		synctest.Wait()
		if at == p.s.length {
			return
		}
	}
}

// nextRenewal is when the i-th kubelet renews its Lease after now.
func (p *theirs) nextRenewal(i int) time.Duration {
	now, next := time.Since(p.start), leaseOffset(i)
	if now >= next {
		next += (now-next)/leasePeriod*leasePeriod + leasePeriod
	}
	return next
}

func (p *theirs) renew(node string) {
	if p.stopped[node] {
		return
	}
	now := metav1.NowMicro()
	leases := p.client.CoordinationV1().Leases("kube-node-lease")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: "kube-node-lease"}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	if _, err := leases.Update(p.ctx, lease, metav1.UpdateOptions{}); err != nil {
		if _, err := leases.Create(p.ctx, lease, metav1.CreateOptions{}); err != nil {
			panic(err)
		}
	}
}

func (p *theirs) do(s step) {
	switch s.do {
	case "stop", "start":
		p.stopped[s.node] = s.do == "stop"
		if s.do == "start" {
			p.renew(s.node)
			p.post(s.node, corev1.ConditionTrue)
		}
	case "unready":
		p.post(s.node, corev1.ConditionFalse)
	case "ready":
		p.post(s.node, corev1.ConditionTrue)
	case "delete":
		_ = p.client.CoreV1().Nodes().Delete(p.ctx, s.node, metav1.DeleteOptions{})
	case "create":
		_, _ = p.client.CoreV1().Nodes().Create(p.ctx, newNode(s.node, p.s.zone(s.node)), metav1.CreateOptions{})
	}
}

// post writes the condition Ready of a Node, unless it is gone or its kubelet is stopped.
func (p *theirs) post(name string, status corev1.ConditionStatus) {
	node, err := p.client.CoreV1().Nodes().Get(p.ctx, name, metav1.GetOptions{})
	if err != nil || p.stopped[name] {
		return
	}
	for i, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			node.Status.Conditions[i] = readyCondition(status)
		}
	}
	if _, err := p.client.CoreV1().Nodes().UpdateStatus(p.ctx, node, metav1.UpdateOptions{}); err != nil {
		panic(err)
	}
}
