package scheduling_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A line is a scheduler alone, and when it tried which Pod. Its time begins at a whole minute.
type line struct {
	*testing.T
	sim   *simulation.Simulation
	tries []string
}

func newLine(t *testing.T) *line {
	l := &line{T: t}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var err error
	l.sim, err = simulation.New(stage.MustCompile(), simulation.Options{
		Start: start, Reconcile: reconcile.Options{Events: true},
		Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{Trace: func(d scheduling.Decision) {
			l.tries = append(l.tries, fmt.Sprintf("%s at %v", d.Pod.Name, d.Time.Sub(start)))
		}})},
	})
	require.NoError(t, err)
	return l
}

// at loads objects at a time.
func (l *line) at(d time.Duration, objects string) {
	l.sim.At(l.sim.Now().Add(d), func(ctx context.Context) error { return l.sim.Cluster().Load(ctx, []byte(objects)) })
}

func (l *line) advance(d time.Duration) { require.NoError(l, l.sim.Advance(l.Context(), d)) }

func (l *line) status(pod string) map[string]any {
	p, err := l.sim.Cluster().Get(l.Context(), podKind, types.NamespacedName{Namespace: "default", Name: pod})
	require.NoError(l, err)
	return p.Object["status"].(map[string]any)
}

func node(name, cpu string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: %q, pods: '99'}, conditions: [{type: Ready, status: 'True'}]}}", name, cpu)
}

func pod(name, cpu, more string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s containers: [{name: c, image: i, resources: {requests: {cpu: %q}}}]}}", name, more, cpu)
}

// TestAPodIsTriedAgainAfterFiveMinutes: kube-scheduler tries a Pod that it rejected at 187 s again at
// 510 s, the first half minute more than five minutes later. Here it does so if something has changed.
func TestAPodIsTriedAgainAfterFiveMinutes(t *testing.T) {
	l := newLine(t)
	l.at(0, node("n0", "4"))
	l.at(187*time.Second, pod("large", "8", ""))
	l.at(200*time.Second, pod("small", "1", ""))
	l.advance(847 * time.Second)
	require.Equal(t, []string{"large at 3m7s", "small at 3m20s", "large at 8m30s"}, l.tries)
}

// TestAPodIsNotTriedAgainInVain: without a change no Pod is tried, so a lab settles. After a
// change, the Pods are in the order of kube-scheduler, which tried them every five minutes.
func TestAPodIsNotTriedAgainInVain(t *testing.T) {
	l := newLine(t)
	l.at(0, node("n0", "4"))
	l.at(10*time.Second, pod("first", "8", ""))
	l.at(40*time.Second, pod("second", "8", ""))
	l.advance(time.Minute)
	settled, err := l.sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, []string{"first at 10s", "second at 40s"}, l.tries)
	l.at(335*time.Second-time.Minute, node("large", "32")) // after first was put aside again, at 5m30s
	l.advance(time.Hour)
	require.Equal(t, []string{"second at 5m35s", "first at 5m35s"}, l.tries[2:])
}

// TestPodsWithoutNodesWaitLonger: 1, 2, 4 and 8 seconds, then 10, until the next whole second, like
// kube-scheduler in a cluster without Nodes.
func TestPodsWithoutNodesWaitLonger(t *testing.T) {
	for added, tried := range map[time.Duration]time.Duration{
		7 * time.Second: 8 * time.Second, 8500 * time.Millisecond: 11 * time.Second, 12 * time.Second: 16 * time.Second,
		17 * time.Second: 25 * time.Second, 26 * time.Second: 36 * time.Second, 40 * time.Second: 47 * time.Second,
	} {
		l := newLine(t)
		l.at(6500*time.Millisecond, pod("p", "1", ""))
		l.at(added, node("n0", "4"))
		l.advance(time.Minute)
		require.Equal(t, []string{"p at 6.5s", fmt.Sprintf("p at %v", tried)}, l.tries)
	}
}

// TestOnlyChangesThatMayHelpAreTried: the scheduler calls the plugin that rejected the Pod.
func TestOnlyChangesThatMayHelpAreTried(t *testing.T) {
	l := newLine(t)
	l.at(0, node("n0", "4"))
	l.at(time.Second, pod("selective", "1", "nodeSelector: {disk: ssd},"))
	l.at(2*time.Second, node("other", "4"))
	l.at(3*time.Second, pod("bound", "1", ""))
	l.at(4*time.Second, strings.Replace(node("fast", "4"), "name: fast", "name: fast, labels: {disk: ssd}", 1))
	l.advance(time.Minute)
	require.Equal(t, []string{"selective at 1s", "bound at 3s", "selective at 4s"}, l.tries)
}

// TestSchedulerEvents: with the texts of kube-scheduler.
func TestSchedulerEvents(t *testing.T) {
	l := newLine(t)
	l.at(0, node("n0", "4"))
	l.at(time.Second, pod("low", "3", "terminationGracePeriodSeconds: 0,"))
	l.at(2*time.Second, pod("stuck", "8", ""))
	l.at(3*time.Second, pod("high", "3", "priority: 10, schedulerName: default-scheduler,"))
	l.advance(time.Minute)
	list, err := l.sim.Cluster().List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	var lines []string
	for _, e := range list.Items {
		require.Equal(t, "default-scheduler", e.Object["reportingComponent"])
		about := e.Object["involvedObject"].(map[string]any)["name"]
		lines = append(lines, fmt.Sprintf("%v %v %v %v", about, e.Object["type"], e.Object["reason"], e.Object["message"]))
	}
	high, err := l.sim.Cluster().Get(t.Context(), podKind, types.NamespacedName{Namespace: "default", Name: "high"})
	require.NoError(t, err)
	const short, long = "0/1 nodes are available: 1 Insufficient cpu.", " no new claims to deallocate, preemption: 0/1 nodes are available: "
	require.ElementsMatch(t, []string{
		"low Normal Scheduled Successfully assigned default/low to n0",
		"stuck Warning FailedScheduling " + short + long + "1 Preemption is not helpful for scheduling.",
		"high Warning FailedScheduling " + short,
		fmt.Sprintf("low Normal Preempted Preempted by pod %s on node n0", high.GetUID()),
		"high Normal Scheduled Successfully assigned default/high to n0",
	}, lines)
}
