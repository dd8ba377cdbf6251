package apiserver

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podConditions mark rows of Pods that have ended.
func podConditions(p *corev1.Pod) []metav1.TableRowCondition {
	messages := map[corev1.PodPhase]string{corev1.PodSucceeded: "The pod has completed successfully.", corev1.PodFailed: "The pod failed."}
	message, hasEnded := messages[p.Status.Phase]
	if !hasEnded {
		return nil
	}
	return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(p.Status.Phase), Message: message}}
}

func (c cells) pod(p *corev1.Pod) []any {
	s := podSummary{pod: p, reason: cmp.Or(p.Status.Reason, string(p.Status.Phase)), total: len(p.Spec.Containers)}
	s.summarize()
	restarts := fmt.Sprint(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts, c.age(s.lastRestart))
	}
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return []any{p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, restarts, c.age(p.CreationTimestamp),
		cmp.Or(ip, none), cmp.Or(p.Spec.NodeName, none), cmp.Or(p.Status.NominatedNodeName, none), readinessGates(p)}
}

func readinessGates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return none
	}
	met := 0
	for _, gate := range p.Spec.ReadinessGates {
		if isConditionTrue(p, gate.ConditionType) {
			met++
		}
	}
	return fmt.Sprintf("%d/%d", met, len(p.Spec.ReadinessGates))
}

func isConditionTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	return i >= 0 && p.Status.Conditions[i].Status == corev1.ConditionTrue
}

// A podSummary is what a row of a Pod says of its containers, as kubectl get shows it.
type podSummary struct {
	pod             *corev1.Pod
	reason          string
	total, ready    int
	restarts        int32
	lastRestart     metav1.Time
	sidecarRestarts int32       // of init containers that go on
	lastSidecar     metav1.Time // restart
}

func (s *podSummary) summarize() {
	p := s.pod
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	for i := range p.Spec.InitContainers {
		if isSidecar(&p.Spec.InitContainers[i]) {
			s.total++
		}
	}
	if !s.isInitializing() || isConditionTrue(p, corev1.PodInitialized) {
		s.restarts, s.lastRestart = s.sidecarRestarts, s.lastSidecar
		s.addContainers()
	}
	hasEnded := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case !hasEnded:
		s.reason = "Terminating"
	}
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// isInitializing adds up the init containers until the first that is not done, and says if there is
// one.
func (s *podSummary) isInitializing() bool {
	for i, status := range s.pod.Status.InitContainerStatuses {
		at := slices.IndexFunc(s.pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == status.Name })
		sidecar := at >= 0 && isSidecar(&s.pod.Spec.InitContainers[at])
		s.restarts += status.RestartCount
		latest(&s.lastRestart, status)
		if sidecar {
			s.sidecarRestarts += status.RestartCount
			latest(&s.lastSidecar, status)
		}
		ended, waiting := status.State.Terminated, status.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecar && status.Started != nil && *status.Started:
			if status.Ready {
				s.ready++
			}
			continue
		case ended != nil:
			s.reason = "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(s.pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// latest sets t to the end of the last run of a container if that is later.
func latest(t *metav1.Time, status corev1.ContainerStatus) {
	if ended := status.LastTerminationState.Terminated; ended != nil && t.Before(&ended.FinishedAt) {
		*t = ended.FinishedAt
	}
}

func endReason(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
}

// addContainers adds up the containers, the last first: the first one that waits or has ended gives
// the reason.
func (s *podSummary) addContainers() {
	hasRunning, errorReason := false, ""
	for _, status := range slices.Backward(s.pod.Status.ContainerStatuses) {
		s.restarts += status.RestartCount
		latest(&s.lastRestart, status)
		switch ended := status.State.Terminated; {
		case status.State.Waiting != nil && status.State.Waiting.Reason != "":
			s.reason = status.State.Waiting.Reason
		case ended != nil:
			s.reason = endReason(ended)
			if ended.ExitCode != 0 {
				errorReason = s.reason
			}
		case status.Ready && status.State.Running != nil:
			hasRunning = true
			s.ready++
		}
	}
	switch {
	case s.reason != "Completed":
	case hasRunning && isConditionTrue(s.pod, corev1.PodReady):
		s.reason = "Running"
	case errorReason != "":
		s.reason = errorReason
	case hasRunning:
		s.reason = "NotReady"
	}
}
