package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

// ours plays a Pod with package kubelet.
type ours struct {
	scenario
	t       *testing.T
	start   time.Time
	history *history
	object  *unstructured.Unstructured
	noticed time.Time // until when
}

func playOurs(t *testing.T, s scenario) []string {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.pod)
	require.NoError(t, err)
	delete(object, "status")
	w := &ours{scenario: s, t: t, start: start, history: newHistory(start), object: &unstructured.Unstructured{Object: object}, noticed: start.Add(-time.Second)}
	w.object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	for now := time.Duration(0); now <= horizon; now += time.Second {
		if w.step(now) {
			break
		}
	}
	return w.history.lines()
}

// step plays a second, and reports whether the Pod is gone.
func (w *ours) step(now time.Duration) bool {
	at := w.start.Add(now)
	if w.deleted > 0 && now == w.deleted {
		grace := *w.pod.Spec.TerminationGracePeriodSeconds
		require.NoError(w.t, unstructured.SetNestedField(w.object.Object, at.Add(time.Duration(grace)*time.Second).Format(time.RFC3339), "metadata", "deletionTimestamp"))
		require.NoError(w.t, unstructured.SetNestedField(w.object.Object, grace, "metadata", "deletionGracePeriodSeconds"))
	}
	notices, err := kubelet.Notices(w.object, at, kubelet.Options{RunUnknown: true})
	require.NoError(w.t, err)
	for _, n := range notices {
		if !n.At.After(at) && n.At.After(w.noticed) && n.Reason != "DeadlineExceeded" { // which the kubelet's loop records
			w.history.event(n.At, n.Type, n.Reason, n.Message)
		}
	}
	w.noticed = at
	step, err := kubelet.Next(w.object, at, kubelet.Options{RunUnknown: true})
	require.NoError(w.t, err)
	for _, e := range step.Events {
		w.history.event(recordedAt(at, e), e.Type, e.Reason, e.Message)
	}
	w.object.Object["status"] = step.Status
	w.observe()
	w.judge()
	phase := step.Status["phase"]
	return step.Delete || phase == "Failed" || phase == "Succeeded"
}

// recordedAt is when Kubernetes, which looks again at once, records an Event. Package kubelet
// reports ErrImagePull for a second.
func recordedAt(at time.Time, e kubelet.Event) time.Time {
	if strings.HasPrefix(e.Message, "Back-off pulling image") || e.Message == "Error: ImagePullBackOff" {
		return at.Add(-time.Second)
	}
	return at
}

func (w *ours) typed() *corev1.Pod {
	pod := &corev1.Pod{}
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(w.object.Object, pod))
	return pod
}

// observe notes the starts and ends of containers that the status shows.
func (w *ours) observe() {
	pod := w.typed()
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		n := s.RestartCount
		if s.State.Running != nil {
			w.history.add(s.State.Running.StartedAt.Time, fmt.Sprintf("%s/%d starts", s.Name, n))
			n--
		} else if s.State.Terminated != nil {
			w.ended(s.Name, n, s.State.Terminated)
			n--
		}
		if s.LastTerminationState.Terminated != nil {
			w.ended(s.Name, n, s.LastTerminationState.Terminated)
		}
	}
}

func (w *ours) ended(name string, n int32, e *corev1.ContainerStateTerminated) {
	w.history.add(e.StartedAt.Time, fmt.Sprintf("%s/%d starts", name, n))
	w.history.add(e.FinishedAt.Time, fmt.Sprintf("%s/%d exits with %d", name, n, e.ExitCode))
}

// judge makes the kubelet compute phase and conditions for the containers of the status.
func (w *ours) judge() {
	pod := w.typed()
	now := pod.Status
	all := append(append([]corev1.ContainerStatus{}, now.InitContainerStatuses...), now.ContainerStatuses...)
	started := false
	for _, s := range now.ContainerStatuses {
		started = started || s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
	}
	running := false
	for _, s := range all {
		running = running || s.State.Running != nil
	}
	stopped := pod.DeletionTimestamp != nil && !running
	phase := getPhase(klog.Background(), pod, all, stopped, started)
	if d := w.pod.Spec.ActiveDeadlineSeconds; d != nil && w.noticed.Sub(w.start) >= time.Duration(*d)*time.Second {
		phase = corev1.PodFailed // as generateAPIPodStatus does after getPhase
	}
	if terminal := phase == corev1.PodFailed || phase == corev1.PodSucceeded; !terminal || !running {
		require.Equal(w.t, phase, now.Phase, "%s\n%v", w.scenario, all)
	}
	want := []corev1.PodCondition{
		status.GeneratePodInitializedCondition(pod, &now, all, phase),
		status.GeneratePodReadyCondition(pod, &now, now.Conditions, all, phase),
		status.GenerateContainersReadyCondition(pod, &now, all, phase),
	}
	for _, c := range want {
		w.requireCondition(c, now)
	}
}

func (w *ours) requireCondition(want corev1.PodCondition, now corev1.PodStatus) {
	for _, c := range now.Conditions {
		if c.Type == want.Type {
			want.LastTransitionTime = c.LastTransitionTime
			require.Equal(w.t, want, c, "%s\n%v", w.scenario, now)
			return
		}
	}
	require.Fail(w.t, "no condition", "%s", want.Type)
}
