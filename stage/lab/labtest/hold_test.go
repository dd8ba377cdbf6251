package labtest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func computed(obj *unstructured.Unstructured) kstatus.Status {
	return kstatus.Extended().Compute(obj, obj.GetCreationTimestamp().Time).Status
}

func TestPodsAreDrivenToEveryState(t *testing.T) {
	for state, want := range map[kstatustest.State]kstatus.Status{
		labtest.Ready:                kstatus.Current,
		kstatustest.Current:          kstatus.Current,
		kstatustest.Succeeded:        kstatus.Current,
		kstatustest.Pending:          kstatus.InProgress,
		kstatustest.Unschedulable:    kstatus.InProgress,
		kstatustest.Failed:           kstatus.Failed,
		kstatustest.CrashLoopBackOff: kstatus.Failed,
		kstatustest.ImagePullBackOff: kstatus.Failed,
		kstatustest.OOMKilled:        kstatus.Failed,
		kstatustest.Evicted:          kstatus.Failed,
	} {
		t.Run(string(state), func(t *testing.T) {
			lab := labtest.New(t, labtest.Options{})
			lab.Apply(podIn("default", "web"))
			lab.WaitCurrent()
			pod := object("v1", "Pod", "web")
			lab.Drive(pod, state)
			driven := lab.Get("v1", "Pod", "web")
			require.Equal(t, want, computed(driven))
			lab.Advance(time.Hour)
			require.Equal(t, driven.Object["status"], lab.Get("v1", "Pod", "web").Object["status"], "it stays there")
			lab.Drive(pod, labtest.Ready)
			lab.Settle()
			labtest.RequireCurrent(t, lab.Get("v1", "Pod", "web"))
			require.NotEmpty(t, field(lab.Get("v1", "Pod", "web"), "spec", "nodeName"))
		})
	}
}

// TestADrivenPodIsNotScheduled drives a Pod that no controller has seen yet, and a Pod that could
// not be scheduled.
func TestADrivenPodIsNotScheduled(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(podIn("default", "new"), `{apiVersion: v1, kind: Pod, metadata: {name: large},
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "64"}}}]}}`)
	lab.Drive(object("v1", "Pod", "new"), kstatustest.Unschedulable)
	lab.Settle()
	require.Contains(t, fmt.Sprint(lab.Get("v1", "Pod", "large").Object["status"]), "Insufficient cpu")
	lab.Drive(object("v1", "Pod", "large"), kstatustest.Pending)
	lab.Apply(`{apiVersion: v1, kind: Node, metadata: {name: giant}, status: {allocatable: {cpu: "96", memory: 1Ti, pods: "110"}}}`)
	lab.Settle()
	for _, name := range []string{"new", "large"} {
		require.Nil(t, field(lab.Get("v1", "Pod", name), "spec", "nodeName"), name)
		lab.Drive(object("v1", "Pod", name), labtest.Ready)
	}
	lab.Settle()
	require.NotNil(t, field(lab.Get("v1", "Pod", "new"), "spec", "nodeName"))
	require.Equal(t, "giant", field(lab.Get("v1", "Pod", "large"), "spec", "nodeName"))
}

func TestWhatADrivenPodMeansForItsOwner(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(web)
	lab.WaitCurrent()
	found := lab.List("v1", "Pod", "")
	first, second := found[0], found[1]
	lab.Drive(first, kstatustest.CrashLoopBackOff)
	lab.Advance(0)
	require.EqualValues(t, 2, field(lab.Get("apps/v1", "Deployment", "web"), "status", "readyReplicas"))
	lab.Delete(first)
	lab.WaitCurrent() // its deletion ends the hold, and another Pod takes its place
	lab.Drive(second, kstatustest.Evicted)
	lab.Advance(0)
	lab.WaitCurrent()
	require.Equal(t, "Failed", field(lab.Get("v1", "Pod", second.GetName()), "status", "phase"))
}

func TestADeploymentIsDrivenToFailureAndBack(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(web)
	lab.WaitCurrent()
	deployment := object("apps/v1", "Deployment", "web")
	lab.Drive(deployment, kstatustest.Failed)
	lab.Advance(time.Hour)
	failed := lab.Get("apps/v1", "Deployment", "web")
	require.Equal(t, kstatus.Failed, computed(failed))
	require.Contains(t, fmt.Sprint(failed.Object["status"]), "ProgressDeadlineExceeded")
	lab.Drive(deployment, labtest.Ready)
	lab.WaitCurrent(deployment)
	lab.Settle()
	ready := lab.Get("apps/v1", "Deployment", "web")
	require.NotContains(t, fmt.Sprint(ready.Object["status"]), "ProgressDeadlineExceeded")
	require.EqualValues(t, 3, field(ready, "status", "readyReplicas"))
}

// failing returns the names of the Pods, of many, that a failure happens to.
func failing(t *testing.T, seed uint64, many int, f labtest.Failure) map[string]bool {
	t.Helper()
	lab := labtest.New(t, labtest.Options{Seed: seed, Nodes: 10, Failures: []labtest.Failure{f}})
	for i := range many {
		lab.Apply(podIn("default", fmt.Sprintf("web-%d", i)))
	}
	lab.Settle()
	failed := map[string]bool{}
	for _, pod := range lab.List("v1", "Pod", "") {
		switch status := computed(pod); status {
		case kstatus.Failed:
			failed[pod.GetName()] = true
		default:
			require.Equal(t, kstatus.Current, status, pod.GetName())
		}
	}
	return failed
}

func TestFailuresHappenByRateAndSeed(t *testing.T) {
	crash := labtest.Failure{State: kstatustest.CrashLoopBackOff, Rate: 0.2}
	many := max(250, effort.Of(1000))
	failed := failing(t, 1, many, crash)
	require.InDelta(t, 0.2*float64(many), len(failed), 1.2*math.Sqrt(float64(many)), "three standard deviations")
	require.Equal(t, failed, failing(t, 1, many, crash))
	other := failing(t, 2, many, crash)
	require.NotEqual(t, failed, other)
	both := 0
	for name := range failed {
		if other[name] {
			both++
		}
	}
	require.InDelta(t, 0.04*float64(many), both, 0.6*math.Sqrt(float64(many)), "seeds are independent")
	few := failing(t, 1, 100, crash)
	for name := range few {
		require.Contains(t, failed, name, "what happens to a Pod does not depend on the others")
	}
	crash.Rate = 0
	require.Empty(t, failing(t, 1, 100, crash))
	crash.Rate = 1
	require.Len(t, failing(t, 1, 100, crash), 100)
}

func TestFailuresHappenToWhatIsSelected(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Failures: []labtest.Failure{
		{State: kstatustest.Unschedulable, Rate: 1, Selector: labels.SelectorFromSet(labels.Set{"app": "web"})},
		{State: kstatustest.NotReady, Rate: 1, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Selector: labels.SelectorFromSet(labels.Set{"broken": "true"})},
	}})
	lab.Apply(web, podIn("default", "other"), `{apiVersion: v1, kind: Node, metadata: {name: broken, labels: {broken: "true"}}}`)
	lab.Settle()
	labtest.RequireCurrent(t, lab.Get("v1", "Pod", "other"))
	labtest.RequireCurrent(t, lab.Get("v1", "Node", "node-1"))
	require.NotEqual(t, kstatus.Current, computed(lab.Get("v1", "Node", "broken")))
	found := lab.List("v1", "Pod", "app=web")
	require.Len(t, found, 3)
	for _, pod := range found {
		require.Nil(t, field(pod, "spec", "nodeName"))
		require.Contains(t, fmt.Sprint(pod.Object["status"]), "Unschedulable")
	}
}
