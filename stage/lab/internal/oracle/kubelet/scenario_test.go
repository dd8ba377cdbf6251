package kubelet

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A program is the behavior of a container.
type program struct {
	known bool
	runs  time.Duration
	code  int32
}

func (p program) command() []string {
	if !p.known {
		return []string{"serve"}
	}
	return []string{"sh", "-c", fmt.Sprintf("sleep %d; exit %d", int(p.runs.Seconds()), p.code)}
}

// A scenario is a Pod and the changes to it.
type scenario struct {
	pod      *corev1.Pod
	programs map[string]program
	deleted  time.Duration // 0: never
}

const horizon = 12 * time.Minute

func random(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 7))
	s := scenario{programs: map[string]program{}, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u"}}}
	spec := &s.pod.Spec
	spec.NodeName = "n"
	spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}[r.IntN(3)]
	spec.TerminationGracePeriodSeconds = new([]int64{30, 30, 5, 1, 0}[r.IntN(5)])
	for i := range r.IntN(4) {
		c := s.container(r, fmt.Sprint("i", i))
		if r.IntN(2) == 0 {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		} else if !s.programs[c.Name].known { // it would never end
			s.programs[c.Name] = program{known: true, runs: time.Second}
			c.Command = s.programs[c.Name].command()
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	for i := range 1 + r.IntN(2) {
		spec.Containers = append(spec.Containers, s.container(r, fmt.Sprint("c", i)))
	}
	switch r.IntN(4) {
	case 0:
		spec.ActiveDeadlineSeconds = new(int64(1 + r.IntN(100)))
	case 1:
		s.deleted = time.Duration(1+r.IntN(200)) * time.Second
	}
	return s
}

func (s scenario) container(r *rand.Rand, name string) corev1.Container {
	p := program{known: r.IntN(4) > 0, runs: time.Duration([]int{1, 3, 7, 40, 610}[r.IntN(5)]) * time.Second, code: []int32{0, 0, 1, 3}[r.IntN(4)]}
	s.programs[name] = p
	image := "present:1"
	if r.IntN(10) == 0 {
		image = "b:404"
	}
	return corev1.Container{Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: p.command()}
}

func (s scenario) String() string {
	lines := []string{fmt.Sprintf("restartPolicy %s, grace %d", s.pod.Spec.RestartPolicy, *s.pod.Spec.TerminationGracePeriodSeconds)}
	if d := s.pod.Spec.ActiveDeadlineSeconds; d != nil {
		lines = append(lines, fmt.Sprintf("activeDeadlineSeconds %d", *d))
	}
	if s.deleted > 0 {
		lines = append(lines, fmt.Sprintf("deleted after %s", s.deleted))
	}
	for _, c := range append(append([]corev1.Container{}, s.pod.Spec.InitContainers...), s.pod.Spec.Containers...) {
		kind := ""
		if c.RestartPolicy != nil {
			kind = " sidecar"
		}
		lines = append(lines, fmt.Sprintf("%s%s %s %q", c.Name, kind, c.Image, c.Command))
	}
	return strings.Join(lines, "\n")
}
