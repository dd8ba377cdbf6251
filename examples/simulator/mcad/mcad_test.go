package mcad_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	pods     = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	jobs     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	wrappers = mcad.Kinds()[0].GroupVersionKind
)

// A lab has nodes with eight GPUs, and Jobs that are done a minute after they have a node.
type lab struct {
	*simulation.Simulation
	t      *testing.T
	faults []string
}

func newLab(t *testing.T, nodes int, o mcad.QueueOptions) *lab {
	l := &lab{t: t}
	var err error
	l.Simulation, err = simulation.New(stage.MustCompile(presets.NodeFast(), stage.Parse("minute.yaml", []byte(minute))), simulation.Options{
		Kinds: mcad.Kinds(), Filter: controllers.Bound,
		Controllers: append(mcad.Queue(o), mcad.Coscheduler(), batch.Jobs(), scheduling.Scheduler(scheduling.Options{})),
		Reconcile: reconcile.Options{Trace: func(e reconcile.TraceEvent) {
			if e.Err != nil {
				l.faults = append(l.faults, e.String())
			}
		}},
	})
	require.NoError(t, err)
	for i := range nodes {
		l.load(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: node-%d}, status: {allocatable: {cpu: "8", pods: "10", gpu: "8"}}}`, i+1))
	}
	l.advance(0)
	return l
}

const minute = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: minute}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{jq: {key: .status.phase, operator: NotIn, values: [Succeeded]}}]}
  delay: {durationMilliseconds: 60000}
  steps: [{patch: {root: status, subresource: status, template: "phase: Succeeded"}}]
`

func (l *lab) load(yaml string) {
	l.t.Helper()
	require.NoError(l.t, l.Cluster().Load(l.t.Context(), []byte(yaml)))
}

func (l *lab) advance(d time.Duration) {
	l.t.Helper()
	require.NoError(l.t, l.Advance(l.t.Context(), d))
}

// wrap submits a Job of some Pods that ask for GPUs each, as a gang if that has a name.
func (l *lab) wrap(name string, count, gpus int, gang bool) {
	l.t.Helper()
	group, template := "", ""
	if gang {
		group = fmt.Sprintf(`{replicas: 1, generictemplate: {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup,
  metadata: {name: %s}, spec: {minMember: %d}}},`, name, count)
		template = fmt.Sprintf(`metadata: {labels: {scheduling.x-k8s.io/pod-group: %s}},`, name)
	}
	spec := map[bool]string{true: "schedulerName: scheduler-plugins-scheduler,"}[gang] +
		fmt.Sprintf(`restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {gpu: %d}}}]`, gpus)
	l.load(fmt.Sprintf(`{apiVersion: mcad.ibm.com/v1beta1, kind: AppWrapper, metadata: {name: %s}, spec: {resources: {GenericItems: [%s
  {generictemplate: {apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {parallelism: %d, completions: %d, template: {%s spec: {%s}}}}}]}}}`,
		name, group, name, count, count, template, spec))
}

// places are the Pods of a Job with their nodes, "-" for none, by Job.
func (l *lab) places() string {
	l.t.Helper()
	list, err := l.Cluster().List(l.t.Context(), pods, "", metav1.ListOptions{})
	require.NoError(l.t, err)
	var found []string
	for _, p := range list.Items {
		node, _, _ := unstructured.NestedString(p.Object, "spec", "nodeName")
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		if phase != "Succeeded" {
			found = append(found, p.GetLabels()["job-name"]+":"+node)
		}
	}
	return strings.Join(found, " ")
}

func (l *lab) wrapper(name string) *unstructured.Unstructured {
	l.t.Helper()
	w, err := l.Cluster().Get(l.t.Context(), wrappers, types.NamespacedName{Namespace: "default", Name: name})
	require.NoError(l.t, err)
	return w
}

func (l *lab) states(names ...string) (states []string) {
	l.t.Helper()
	for _, name := range names {
		states = append(states, mcad.StateOf(l.wrapper(name)))
	}
	return states
}

func TestTheHeadOfTheLineWaitsForRoom(t *testing.T) {
	l := newLab(t, 2, mcad.QueueOptions{})
	l.wrap("a", 1, 8, false)
	l.advance(0)
	l.wrap("b", 2, 6, false)
	l.wrap("c", 1, 2, false)
	l.advance(time.Second)
	require.Equal(t, []string{"Dispatched", "Pending", "Pending"}, l.states("a", "b", "c"), "c would fit, but does not pass b")
	l.advance(time.Minute)
	require.Equal(t, []string{"Completed", "Dispatched", "Dispatched"}, l.states("a", "b", "c"))
	l.advance(time.Minute)
	require.Equal(t, []string{"Completed", "Completed", "Completed"}, l.states("a", "b", "c"))
	require.Empty(t, l.faults)
}

func TestRoomIsThatOfAllNodesTogether(t *testing.T) {
	l := newLab(t, 2, mcad.QueueOptions{})
	l.wrap("a", 1, 6, false)
	l.wrap("b", 1, 6, false)
	l.wrap("c", 1, 4, false)
	l.advance(time.Second)
	require.Equal(t, []string{"Dispatched", "Dispatched", "Dispatched"}, l.states("a", "b", "c"))
	require.Equal(t, "a:node-1 b:node-2 c:", l.places(), "there are four GPUs, but not on one node")
}

func TestTheDispatcherRests(t *testing.T) {
	l := newLab(t, 1, mcad.QueueOptions{Rest: 2 * time.Second})
	for _, name := range []string{"a", "b", "c"} {
		l.wrap(name, 1, 1, false)
	}
	for _, want := range []string{"Dispatched Pending Pending", "Dispatched Dispatched Pending", "Dispatched Dispatched Dispatched"} {
		l.advance(time.Second)
		require.Equal(t, want, strings.Join(l.states("a", "b", "c"), " "))
		l.advance(time.Second)
	}
}

func TestAnotherOrder(t *testing.T) {
	last := func(a, b *unstructured.Unstructured) bool { return a.GetName() > b.GetName() }
	l := newLab(t, 1, mcad.QueueOptions{Before: last, Rest: time.Second})
	for _, name := range []string{"a", "b", "c"} {
		l.wrap(name, 1, 1, false)
	}
	l.advance(time.Second)
	require.Equal(t, []string{"Dispatched", "Pending", "Dispatched"}, l.states("a", "b", "c"), "a was alone when the dispatcher was idle")
}

func TestConditions(t *testing.T) {
	l := newLab(t, 1, mcad.QueueOptions{})
	l.wrap("a", 1, 8, false)
	l.advance(time.Hour)
	w := l.wrapper("a")
	conditions, _, err := unstructured.NestedSlice(w.Object, "status", "conditions")
	require.NoError(t, err)
	var names []string
	for _, c := range conditions {
		m := c.(map[string]any)
		names = append(names, fmt.Sprint(m["type"], " ", m["reason"], " ", m["lastTransitionMicroTime"]))
	}
	require.Equal(t, []string{
		"Init <nil> 2006-01-02T15:04:05.000000Z",
		"Queueing AwaitingHeadOfLine 2006-01-02T15:04:05.000000Z",
		"HeadOfLine FrontOfQueue. 2006-01-02T15:04:05.000000Z",
		"Dispatched AppWrapperRunnable 2006-01-02T15:04:05.000000Z",
		"Completed PodsCompleted 2006-01-02T15:05:05.000000Z",
	}, names)
	require.Equal(t, map[string]string{"appwrapper.mcad.ibm.com": "a", "resourceName": "a"}, l.job("a").GetLabels())
	require.NoError(t, l.Cluster().Delete(t.Context(), wrappers, types.NamespacedName{Namespace: "default", Name: "a"}, metav1.DeleteOptions{}))
	list, err := l.Cluster().List(t.Context(), jobs, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items, "the Job goes with its AppWrapper")
}

func (l *lab) job(name string) *unstructured.Unstructured {
	l.t.Helper()
	j, err := l.Cluster().Get(l.t.Context(), jobs, types.NamespacedName{Namespace: "default", Name: name})
	require.NoError(l.t, err)
	return j
}

func TestNonsenseIsTold(t *testing.T) {
	l := newLab(t, 1, mcad.QueueOptions{})
	l.load(`{apiVersion: mcad.ibm.com/v1beta1, kind: AppWrapper, metadata: {name: a}, spec: {resources: {GenericItems: [{generictemplate: 3}]}}}`)
	l.advance(time.Hour)
	require.Len(t, l.faults, 1)
	require.Contains(t, l.faults[0], "AppWrapper a: spec.resources.GenericItems[0].generictemplate has no kind")
}

func TestAGangIsBoundTogetherOrNotAtAll(t *testing.T) {
	l := newLab(t, 2, mcad.QueueOptions{})
	l.wrap("a", 1, 6, true)
	l.wrap("b", 1, 6, true)
	l.wrap("c", 2, 2, true)
	l.advance(time.Second)
	require.Equal(t, "a:node-1 b:node-2 c:node-1 c:node-2", l.places(), "each has room for one of c")

	l = newLab(t, 2, mcad.QueueOptions{})
	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {containers: [{name: c, image: i, resources: {requests: {gpu: 5}}}]}}`)
	l.wrap("a", 2, 5, true)
	l.advance(time.Second)
	require.Equal(t, "a: a: :node-1", l.places(), "one of them would fit")
	l.advance(time.Minute)
	require.Equal(t, "a:node-1 a:node-2", l.places())
	require.Empty(t, l.faults)
}

func TestALaterGangPassesOneThatDoesNotFit(t *testing.T) {
	l := newLab(t, 1, mcad.QueueOptions{})
	for _, g := range []string{"a 2 5", "b 2 4"} {
		var name string
		var count, gpus int
		_, err := fmt.Sscan(g, &name, &count, &gpus)
		require.NoError(t, err)
		l.load(fmt.Sprintf(`{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: %s}, spec: {minMember: %d}}`, name, count))
		for i := range count {
			l.load(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, labels: {job-name: %s, scheduling.x-k8s.io/pod-group: %s}},
  spec: {schedulerName: scheduler-plugins-scheduler, containers: [{name: c, image: i, resources: {requests: {gpu: %d}}}]}}`, name, i, name, name, gpus))
		}
	}
	l.advance(time.Second)
	require.Equal(t, "a: a: b:node-1 b:node-1", l.places())
}
