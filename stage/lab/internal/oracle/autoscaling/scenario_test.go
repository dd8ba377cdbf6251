package autoscaling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A world is a cluster in which a scenario is played. The scaled object is the Deployment web.
type world interface {
	now() time.Time
	putPod(*corev1.Pod)
	terminatePod(name string)
	deletePod(name string)
	setStatusReplicas(int32)
	setSpecReplicas(int32)
	specReplicas() int32
	putAutoscaler(*autoscalingv2.HorizontalPodAutoscaler)
	deleteAutoscaler(name string)
}

// A step is an action at a time at which no autoscaler is looked at.
type step struct {
	at time.Duration
	do func(*play)
}

type scenario struct {
	steps    []step
	length   time.Duration
	at       time.Duration // of the last step, in seconds
	replicas int32         // at first
}

// A play is a scenario in a world, with the present Pods and measurements.
type play struct {
	world
	pods    map[string]*corev1.Pod
	metrics measured
}

// measured are the answers of the metrics APIs, in thousandths.
type measured struct {
	pods             map[string]sample // of any metric of Pods, by the name of the Pod
	total            []int64           // of an object (the first), or an external metric
	failing, missing bool              // an error, or no value at all
}

type sample struct {
	value       int64
	age, window time.Duration
}

// random returns the scenario of a seed.
func random(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 204))
	s := scenario{length: 20 * time.Minute, replicas: int32(1 + r.IntN(6))}
	p := podDraws{r}
	s.add(time.Second, syncPods(p.draw()))
	load := drawMetrics(r)
	s.add(time.Second, func(p *play) { p.metrics = load })
	s.addAutoscaler(time.Second, drawAutoscaler(r, "web"))
	for s.at < s.length-3*time.Minute {
		after := time.Duration(1+r.IntN(40)) * time.Second
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			s.add(after, syncPods(p.draw()))
		case 4, 5, 6:
			load := drawMetrics(r)
			s.add(after, func(p *play) { p.metrics = load })
		case 7:
			n := int32(r.IntN(12))
			s.add(after, func(p *play) { p.setSpecReplicas(n) })
		case 8:
			s.addAutoscaler(after, drawAutoscaler(r, "web"))
		case 9:
			s.addRare(r, after)
		}
	}
	return s
}

// add adds a step, at half a second.
func (s *scenario) add(after time.Duration, do func(*play)) {
	s.at += after
	s.steps = append(s.steps, step{s.at + 500*time.Millisecond, do})
}

// addAutoscaler creates or changes an autoscaler, each at another millisecond, at which it is looked
// at later.
func (s *scenario) addAutoscaler(after time.Duration, hpa *autoscalingv2.HorizontalPodAutoscaler) {
	s.at += after
	hpa.UID = types.UID(fmt.Sprint(hpa.Name, "-", len(s.steps))) // counts if it is new
	s.steps = append(s.steps, step{s.at + time.Duration(len(s.steps))*time.Millisecond, func(p *play) { p.putAutoscaler(hpa.DeepCopy()) }})
}

// addRare adds another autoscaler for the same Pods for a while, or deletes the autoscaler and
// creates it again.
func (s *scenario) addRare(r *rand.Rand, after time.Duration) {
	hpa := drawAutoscaler(r, "other")
	if r.IntN(2) == 0 {
		hpa.Name = "web"
		s.add(after, func(p *play) { p.deleteAutoscaler("web") })
		s.addAutoscaler(time.Duration(1+r.IntN(20))*time.Second, hpa)
		return
	}
	s.addAutoscaler(after, hpa)
	s.add(time.Duration(20+r.IntN(60))*time.Second, func(p *play) { p.deleteAutoscaler("other") })
}

// podDraws draws changes of Pods, which depend on the number of Pods at that time.
type podDraws struct{ *rand.Rand }

type podDraw struct {
	keep, lag            int // of 12, how many keep their state; how far the status is behind
	phases, ready, other []int
}

func (r podDraws) draw() podDraw {
	d := podDraw{keep: r.IntN(13), lag: max(0, r.IntN(5)-3)}
	for range 64 {
		d.phases, d.ready, d.other = append(d.phases, r.IntN(16)), append(d.ready, r.IntN(5)), append(d.other, r.IntN(40))
	}
	return d
}

// syncPods makes as many Pods as the Deployment wants, with new states for some.
func syncPods(d podDraw) func(*play) {
	return func(p *play) {
		want := int(p.specReplicas())
		p.setStatusReplicas(int32(max(0, want-d.lag)))
		for _, name := range sortedNames(p.pods) {
			if p.pods[name].DeletionTimestamp != nil || slices.Index(podNames(want), name) < 0 {
				p.deletePod(name)
				delete(p.pods, name)
			}
		}
		for i, name := range podNames(want) {
			pod := p.pods[name]
			switch {
			case pod == nil:
				pod = newPod(name, d.other[i%64])
			case i%12 < d.keep:
				continue
			case d.other[i%64] == 0:
				p.terminatePod(name)
				now := metav1.NewTime(p.now())
				pod.DeletionTimestamp = &now
				continue
			}
			p.pods[name] = pod
			setState(pod, d.phases[i%64], d.ready[i%64], p.now())
			p.putPod(pod.DeepCopy())
		}
	}
}

func podNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("web-%03d", i))
	}
	return names
}

func sortedNames(pods map[string]*corev1.Pod) (names []string) {
	for name := range pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// newPod returns a Pod with two containers, and often a sidecar or requests of the whole. Only one
// Pod may have no request: Kubernetes names any of the Pods without one.
func newPod(name string, kind int) *corev1.Pod {
	request := func(cpu, memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": "web"}, Finalizers: []string{"test/hold"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Image: "i", Resources: request("150m", "100Mi")}, {Name: "log", Image: "i", Resources: request("50m", "20Mi")},
		}},
	}
	switch {
	case name == "web-003":
		if kind < 20 {
			delete(pod.Spec.Containers[1].Resources.Requests, "cpu")
		}
		return pod
	default:
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "i", RestartPolicy: &always, Resources: request("30m", "10Mi")}}
	}
	if kind < 7 {
		whole := request("300m", "64Mi")
		pod.Spec.Resources = &whole
	}
	return pod
}

func setState(pod *corev1.Pod, phase, ready int, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	switch {
	case phase == 0:
		pod.Status.Phase = corev1.PodFailed
	case phase < 3:
		pod.Status.Phase = corev1.PodPending
	case phase == 3:
		pod.Status.Phase = corev1.PodSucceeded
	default:
		pod.Status.Phase = corev1.PodRunning
	}
	if pod.Status.StartTime == nil && phase != 4 {
		pod.Status.StartTime = &at
	}
	status := corev1.ConditionTrue
	switch ready {
	case 0:
		status = corev1.ConditionFalse
	case 1:
		if len(pod.Status.Conditions) == 0 {
			return
		}
	}
	if len(pod.Status.Conditions) == 0 || pod.Status.Conditions[0].Status != status {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: at}}
	}
}

func drawMetrics(r *rand.Rand) measured {
	m := measured{pods: map[string]sample{}, failing: r.IntN(15) == 0, missing: r.IntN(15) == 0}
	around := int64(20 + r.IntN(400))
	for _, name := range podNames(40) {
		if r.IntN(8) > 0 {
			s := sample{value: around + int64(r.IntN(60))}
			if r.IntN(3) == 0 {
				s.age, s.window = time.Duration(r.IntN(60))*time.Second, time.Duration(r.IntN(2)*30)*time.Second
			}
			m.pods[name] = s
		}
	}
	for range 1 + r.IntN(3) {
		m.total = append(m.total, int64(r.IntN(3000)))
	}
	return m
}

func drawAutoscaler(r *rand.Rand, name string) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    int32(2 + r.IntN(20)),
		},
	}
	if r.IntN(2) == 0 {
		hpa.Spec.MinReplicas = new(1 + int32(r.IntN(int(hpa.Spec.MaxReplicas))))
	}
	switch r.IntN(20) {
	case 0:
		hpa.Spec.ScaleTargetRef.Name = "missing"
	case 1:
		hpa.Spec.ScaleTargetRef.Kind = "Unknown"
	}
	for range r.IntN(4) {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, drawMetric(r))
	}
	if r.IntN(2) == 0 {
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: drawRules(r), ScaleDown: drawRules(r)}
	}
	return hpa
}

func drawRules(r *rand.Rand) *autoscalingv2.HPAScalingRules {
	if r.IntN(4) == 0 {
		return nil
	}
	rules := &autoscalingv2.HPAScalingRules{}
	if r.IntN(2) == 0 {
		rules.StabilizationWindowSeconds = new(int32(r.IntN(8) * 20))
	}
	if r.IntN(2) == 0 {
		choice := []autoscalingv2.ScalingPolicySelect{"Max", "Min", "Disabled"}[r.IntN(3)]
		rules.SelectPolicy = &choice
	}
	for range r.IntN(3) {
		rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{
			Type: []autoscalingv2.HPAScalingPolicyType{"Pods", "Percent"}[r.IntN(2)], Value: int32(1 + r.IntN(60)), PeriodSeconds: int32(1 + r.IntN(120)),
		})
	}
	if r.IntN(3) == 0 {
		q := resource.MustParse([]string{"0", "0.05", "300m"}[r.IntN(3)])
		rules.Tolerance = &q
	}
	return rules
}

func drawMetric(r *rand.Rand) autoscalingv2.MetricSpec {
	average := resource.NewMilliQuantity(int64(50+r.IntN(300)), resource.DecimalSI)
	resources := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(20 + r.IntN(120)))}
	if r.IntN(3) == 0 {
		resources = autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: average}
	}
	total := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: average}
	if r.IntN(2) == 0 {
		total = autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: average}
	}
	name := []corev1.ResourceName{"cpu", "memory"}[r.IntN(2)]
	id := autoscalingv2.MetricIdentifier{Name: "requests"}
	if r.IntN(2) == 0 {
		id.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"verb": "GET"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "code", Operator: "In", Values: []string{"200", "201"}}}}
	}
	switch r.IntN(6) {
	case 0:
		return autoscalingv2.MetricSpec{Type: "ContainerResource", ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: name, Container: []string{"app", "log", "side"}[r.IntN(3)], Target: resources}}
	case 1:
		return autoscalingv2.MetricSpec{Type: "Pods", Pods: &autoscalingv2.PodsMetricSource{
			Metric: id, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: average}}}
	case 2:
		return autoscalingv2.MetricSpec{Type: "Object", Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "web"}, Metric: id, Target: total}}
	case 3:
		return autoscalingv2.MetricSpec{Type: "External", External: &autoscalingv2.ExternalMetricSource{Metric: id, Target: total}}
	}
	return autoscalingv2.MetricSpec{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: resources}}
}
