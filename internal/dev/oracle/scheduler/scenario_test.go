package scheduler

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A scenario is a small cluster, and the Pods that come one after another.
type scenario struct {
	objects []runtime.Object
	pods    []*corev1.Pod
}

// A generator draws scenarios: each feature has one or two values, so that they meet.
type generator struct {
	*rand.Rand
	started int // how many Pods were made: each has its own start time
}

func newScenario(seed uint64) (s scenario) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 36))}
	for _, name := range []string{"default", "other"} {
		s.objects = append(s.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}}})
	}
	if g.one(2) {
		s.objects = append(s.objects, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "a"}}})
	}
	if g.one(3) {
		s.objects = append(s.objects, g.budget())
	}
	nodes := 1 + g.IntN(7)
	for i := range nodes {
		s.objects = append(s.objects, g.node(fmt.Sprintf("n%d", i)))
	}
	for i := range g.IntN(6) {
		p := g.pod(fmt.Sprintf("old%d", i))
		p.Spec.NodeName = fmt.Sprintf("n%d", g.IntN(nodes))
		s.objects = append(s.objects, p)
	}
	for i := range 4 + g.IntN(9) {
		s.pods = append(s.pods, g.pod(fmt.Sprintf("new%d", i)))
	}
	return s
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func draw[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func amounts(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

func (g *generator) budget() *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(g.IntN(2))},
	}
}

func (g *generator) node(name string) *corev1.Node {
	r := amounts(draw(g, "2", "4", "4"), draw(g, "4Gi", "8Gi"))
	r[corev1.ResourcePods] = resource.MustParse(draw(g, "3", "20", "20"))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}, Status: corev1.NodeStatus{
		Capacity: r, Allocatable: r, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	if !g.one(5) {
		n.Labels["topology.kubernetes.io/zone"] = draw(g, "x", "y")
	}
	if g.one(2) {
		n.Labels["disk"] = draw(g, "ssd", "hdd")
	}
	if g.one(5) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: draw(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule)}}
	}
	n.Spec.Unschedulable = g.one(10)
	if g.one(3) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"big:latest"}, SizeBytes: 900 << 20}}
	}
	return n
}

func (g *generator) pod(name string) *corev1.Pod {
	g.started++
	zero, priority := int64(0), draw[int32](g, 0, 0, 0, 10, 100)
	at := metav1.NewTime(time.Date(2025, 1, 1, 0, g.started, 0, 0, time.UTC))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": draw(g, "a", "b")}},
		Spec: corev1.PodSpec{
			SchedulerName: "default-scheduler", Priority: &priority, TerminationGracePeriodSeconds: &zero,
			Containers: []corev1.Container{{Name: "c", Image: draw(g, "big", "small"), Resources: corev1.ResourceRequirements{
				Requests: amounts(draw(g, "", "500m", "1", "3"), draw(g, "", "512Mi", "3Gi")),
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: &at},
	}
	g.spice(p)
	return p
}

// spice gives a Pod some of the things that plugins look at.
func (g *generator) spice(p *corev1.Pod) {
	if g.one(6) {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if g.one(6) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	}
	if g.one(6) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, HostIP: draw(g, "", "10.0.0.1", "10.0.0.2"), Protocol: corev1.ProtocolTCP}}
	}
	if g.one(8) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("2", "")}
	}
	if g.one(8) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "small", RestartPolicy: draw(g, nil, &always), Resources: corev1.ResourceRequirements{Requests: amounts("1500m", "")}}}
	}
	if g.one(8) {
		never := corev1.PreemptNever
		p.Spec.PreemptionPolicy = &never
	}
	g.spread(p)
	g.affinity(p)
}

func (g *generator) spread(p *corev1.Pod) {
	for range g.IntN(5) / 3 {
		c := corev1.TopologySpreadConstraint{
			MaxSkew: 1 + g.Int32N(2), TopologyKey: draw(g, "kubernetes.io/hostname", "topology.kubernetes.io/zone"),
			WhenUnsatisfiable: draw(g, corev1.DoNotSchedule, corev1.ScheduleAnyway),
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": draw(g, "a", "b")}},
		}
		if c.WhenUnsatisfiable == corev1.DoNotSchedule && g.one(3) {
			two := int32(2)
			c.MinDomains = &two
		}
		if g.one(4) {
			honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
			c.NodeTaintsPolicy, c.NodeAffinityPolicy = &honor, &ignore
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func (g *generator) affinity(p *corev1.Pod) {
	if g.one(2) {
		return
	}
	a := &corev1.Affinity{}
	p.Spec.Affinity = a
	if g.one(3) {
		in := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: draw(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"ssd"}}}}
		a.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1 + g.Int32N(9), Preference: in}}}
		if g.one(3) {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				draw(g, in, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n0"}}}}),
			}}
		}
	}
	if g.one(3) {
		a.PodAffinity = &corev1.PodAffinity{}
		if g.one(2) {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{g.term()}
		} else {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 1 + g.Int32N(9), PodAffinityTerm: g.term()}}
		}
	}
	if g.one(3) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		if g.one(2) {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{g.term()}
		} else {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 1 + g.Int32N(9), PodAffinityTerm: g.term()}}
		}
	}
}

func (g *generator) term() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{
		TopologyKey:   draw(g, "kubernetes.io/hostname", "topology.kubernetes.io/zone"),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": draw(g, "a", "b")}},
	}
	if g.one(4) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": draw(g, "default", "other")}}
	}
	return t
}
