package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

// Timing says how long requests, watches and reconciles take in a [Simulation]. [ClusterLike]
// returns the Timing of a cluster, whose numbers you can change. A zero number means no time or no
// limit.
//
// Each process has its own view of each kind, which the controllers of the process share. All
// kubelets together have one view. The functions of [Simulation.On] and [Simulation.At] see every
// change at once, because they measure and do not take part.
type Timing struct {
	// Timing is the timing of the controllers. Latency and WatchDelay also apply to kubelets.
	reconcile.Timing
	// Kubelet is the timing of each kubelet, which plays the Stages of its Node and of the Pods on
	// the Node.
	Kubelet KubeletTiming
	// Events makes the controllers record Events, as in reconcile.Options. Events cost requests.
	Events bool
}

// KubeletTiming is the timing of one kubelet. The Stages of other objects have no limit.
type KubeletTiming struct {
	// Limits are the rate limits of its client. A kubelet has a separate client for Events, which
	// is not modeled. Each effect of a Stage costs a request. All effects happen when the first
	// request takes effect.
	timing.Limits
	// Starts limits how many Pods it begins to play. Default: no limit.
	Starts timing.Limits
}

// controllerManager, scheduler and eachKubelet are the limits of the programs of a cluster without flags.
var (
	controllerManager = timing.Limits{QPS: 20, Burst: 30}
	scheduler         = timing.Limits{QPS: 50, Burst: 100}
	eachKubelet       = timing.Limits{QPS: 50, Burst: 100}
)

// ClusterLike returns the timing of a cluster of Kubernetes 1.36 without flags, for the controllers
// of package stage/lab/controllers by their names:
//
//   - Each controller of kube-controller-manager has a client with 20 requests a second and burst
//     30, which its Events share.
//   - kube-scheduler has 50 requests a second and burst 100, and the same again for Events.
//   - Each kubelet has 50 requests a second and burst 100.
//   - An unknown controller is a separate program with one worker and no limit, like a controller
//     of controller-runtime.
//   - A write takes the API server 5 ms in the median, and 50 ms or more in one case of a hundred.
//     Watchers see the write 2 ms later.
//
// kube-scheduler begins the next cycle before a binding is done. The scheduler here waits for each
// binding, so that without its rate limit it would bind some 100 Pods a second.
func ClusterLike() *Timing {
	write := timing.LogNormal{Median: 5 * time.Millisecond, P99: 50 * time.Millisecond}
	t := &Timing{
		Timing: reconcile.Timing{
			Latency:     timing.Latency{Create: write, Patch: write, Delete: write},
			WatchDelay:  2 * time.Millisecond,
			Controllers: map[string]reconcile.ControllerTiming{},
		},
		Kubelet: KubeletTiming{Limits: eachKubelet},
		Events:  true,
	}
	for name, workers := range managed {
		t.Controllers[name] = reconcile.ControllerTiming{Limits: controllerManager, Workers: workers, Process: "kube-controller-manager"}
	}
	job := t.Controllers["job"]
	job.Gather = time.Second
	t.Controllers["job"] = job
	t.Controllers["scheduler"] = reconcile.ControllerTiming{Limits: scheduler, EventLimits: scheduler, Sync: time.Millisecond, Process: "kube-scheduler"}
	for _, name := range []string{"kubelet-readiness", "kubelet-pods"} {
		t.Controllers[name] = reconcile.ControllerTiming{Workers: math.MaxInt32, Process: "kubelets"} // one each
	}
	for _, name := range []string{"service", "schedulinggates", "apiservice"} {
		t.Controllers[name] = reconcile.ControllerTiming{AtOnce: true, Process: "kube-apiserver"}
	}
	return t
}

// managed are the controllers of kube-controller-manager with their concurrent syncs.
var managed = map[string]int{
	"deployment": 5, "replicaset": 5, "replicationcontroller": 5, "statefulset": 5, "daemonset": 2, "job": 5, "job-orphans": 1, "ttl-after-finished": 5, "cronjob": 5,
	"horizontalpodautoscaler": 5,
	"endpointslice":           5, "endpointslice-mirroring": 5, "persistentvolumeclaim": 1, "persistentvolume": 1, "ephemeral-volume": 5,
	"node-lifecycle": 1, "node-condition-taints": 8, "taint-eviction": 8, "pod-garbage-collector": 1,
	"disruption": 1, "stale-pod-disruption": 1, "resourcequota": 5, "pvc-protection": 1, "pv-protection": 1,
	"serviceaccount": 1, "root-ca-certificate-publisher": 1, "clusterrole-aggregation": 5, "csrcleaner": 1, "service-cidr": 5,
}

// String prints one number per line, as in reports.
func (t *Timing) String() string {
	var b strings.Builder
	for _, p := range t.Parameters() {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Value)
	}
	return b.String()
}

// A Parameter is a number of a Timing, as text.
type Parameter struct{ Name, Value string }

// Parameters returns the lines of a report about a timing. A nil Timing is an ideal control plane,
// in which everything happens at once.
func (t *Timing) Parameters() []Parameter {
	if t == nil {
		return []Parameter{{"control plane", "ideal: nothing takes time"}}
	}
	list := []Parameter{
		{"a creation takes", distributionText(t.Latency.Create)},
		{"a patch takes", distributionText(t.Latency.Patch)},
		{"a deletion takes", distributionText(t.Latency.Delete)},
		{"watches are late by", t.WatchDelay.String()},
		{"each kubelet", t.Kubelet.Limits.String()},
		{"each kubelet starts Pods", t.Kubelet.Starts.String()},
		{"Events are recorded", fmt.Sprint(t.Events)},
	}
	for _, name := range slices.Sorted(maps.Keys(t.Controllers)) {
		list = append(list, Parameter{"controller " + name, t.Controllers[name].String()})
	}
	return append(list, Parameter{"other controllers", t.Others.String()})
}

func distributionText(d timing.Distribution) string {
	if d == nil {
		return "no time"
	}
	return fmt.Sprint(d)
}

// newLoops returns the loops that run the controllers: one for each process.
func (s *Simulation) newLoops() (loops []*reconcile.Loop) {
	o, t := s.options.Reconcile, s.options.Timing
	if len(s.options.Controllers) == 0 {
		return nil
	}
	if t == nil {
		return []*reconcile.Loop{reconcile.NewLoop(s.cluster.Share(), o, s.options.Controllers...)}
	}
	o.Timing, o.Events = &t.Timing, o.Events || t.Events
	var order []string
	processes := map[string][]reconcile.Controller{}
	for _, c := range s.options.Controllers {
		process := cmp.Or(t.Of(c.Name).Process, "of "+c.Name)
		if processes[process] == nil {
			order = append(order, process)
		}
		processes[process] = append(processes[process], c)
	}
	for _, process := range order {
		loops = append(loops, reconcile.NewLoop(s.cluster.Share(), o, processes[process]...))
	}
	return loops
}

// nextLoop returns the loop with the earliest due time, and this time.
func (s *Simulation) nextLoop() (first *reconcile.Loop, next earliest) {
	for _, l := range s.loops {
		at, ok := l.NextDue()
		if ok && (!next.ok || at.Before(next.at)) {
			first, next = l, earliest{at, true}
		}
	}
	return first, next
}

// View returns the view that the process of a controller has of a kind; nil for an unknown
// controller, or if the process does not watch the kind. The position of the view can be set, with
// and without a Timing: see [timing.View].
func (s *Simulation) View(controller string, kind schema.GroupVersionKind) *timing.View[watch.Event] {
	for _, l := range s.loops {
		if l.Runs(controller) {
			return l.View(kind)
		}
	}
	return nil
}

// Close ends running reconciles. The simulation must not be used after Close. Only a simulation
// with a Timing needs Close, because its waiting reconciles have goroutines.
func (s *Simulation) Close() {
	for _, l := range s.loops {
		l.Stop()
	}
}
