package scheduler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A scenario is a small cluster and the changes to it.
type scenario struct {
	objects []runtime.Object
	steps   []step
	length  time.Duration
}

// A step creates, patches or deletes an object. A step without a patch deletes it.
type step struct {
	at              time.Duration
	create          runtime.Object
	kind            schema.GroupVersionKind
	namespace, name string
	patch           string // a merge patch
}

// without leaves out a step or, counted on, an object. Namespaces and PriorityClasses stay.
func (s scenario) without(i int) scenario {
	if i < len(s.steps) {
		s.steps = slices.Delete(slices.Clone(s.steps), i, i+1)
		return s
	}
	i -= len(s.steps)
	switch s.objects[i].(type) {
	case *corev1.Namespace, *schedulingv1.PriorityClass:
	default:
		s.objects = slices.Delete(slices.Clone(s.objects), i, i+1)
	}
	return s
}

func (s scenario) String() string {
	var b strings.Builder
	for _, obj := range s.objects {
		fmt.Fprintln(&b, asJSON(obj))
	}
	for _, step := range s.steps {
		fmt.Fprintln(&b, step.at, step.kind.Kind, step.namespace, step.name, step.patch)
		if step.create != nil {
			fmt.Fprintln(&b, asJSON(step.create))
		}
	}
	return b.String()
}

func asJSON(obj runtime.Object) string {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer(`"`, "").Replace(noise.ReplaceAllString(string(data), ""))
}

// noise are changes of fields that no scheduler reads.
var noise = regexp.MustCompile(`"(nodeInfo|daemonEndpoints|capacity)":{("[^"]*":({[^}]*}|"[^"]*"),?)*},?|"(uid|schedulerName|startTime)":"[^"]*",?|"(strategy|resources|status)":{},?`)

// A generator draws scenarios: each feature has one or two values, so that they meet.
type generator struct {
	*rand.Rand
	scenario
	started int // how many Pods were made: each has its own start time
	mounts  bool
	nodes   int
	pods    []types.NamespacedName
}

func newScenario(seed uint64) scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 36))}
	for _, name := range []string{"default", "other"} {
		g.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}}})
	}
	for _, value := range []int32{10, 100} {
		never := corev1.PreemptNever
		g.add(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", value)}, Value: value, PreemptionPolicy: draw(g, nil, nil, &never)})
	}
	g.owners()
	if g.one(3) {
		g.add(g.budget())
	}
	nodes := 1 + g.IntN(7)
	if g.one(25) {
		nodes = 100 + g.IntN(130)
	}
	for range nodes {
		g.add(g.node())
	}
	if g.mounts = g.one(3); g.mounts {
		g.volumes()
	}
	for i := range g.IntN(6) {
		p := g.pod(fmt.Sprintf("old%d", i))
		p.Spec.NodeName, p.Spec.SchedulingGates = fmt.Sprintf("n%d", g.IntN(nodes)), nil
		if i > 0 { // no two of them have the same port
			p.Spec.Containers[0].Ports = nil
		}
		g.add(p)
	}
	g.play()
	return g.scenario
}

func (g *generator) add(obj runtime.Object) { g.objects = append(g.objects, obj) }

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

func (g *generator) node() *corev1.Node {
	name := fmt.Sprintf("n%d", g.nodes)
	g.nodes++
	r := amounts(draw(g, "2", "4", "4"), draw(g, "4Gi", "8Gi"))
	if g.one(3) {
		r[gpu] = resource.MustParse("2")
	}
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
	grace, priority := draw[int64](g, 0, 0, 7), draw[int32](g, 0, 0, 0, 10, 100)
	at := metav1.NewTime(time.Date(2025, 1, 1, 0, g.started, 0, 0, time.UTC))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: draw(g, "default", "default", "default", "other"), UID: types.UID(name), Labels: map[string]string{"app": draw(g, "a", "b")}},
		Spec: corev1.PodSpec{
			SchedulerName: "default-scheduler", Priority: &priority, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "c", Image: draw(g, "big", "small"), Resources: corev1.ResourceRequirements{
				Requests: amounts(draw(g, "", "500m", "1", "3"), draw(g, "", "512Mi", "3Gi")),
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: &at},
	}
	g.spice(p)
	g.pods = append(g.pods, types.NamespacedName{Namespace: p.Namespace, Name: name})
	return p
}

// plainPod is a Pod that only requests CPU.
func (g *generator) plainPod(name, cpu string) *corev1.Pod {
	p := g.pod(name)
	grace, priority := int64(0), int32(0)
	p.Spec = corev1.PodSpec{
		SchedulerName: "default-scheduler", Priority: &priority, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: amounts(cpu, "")}}},
	}
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
	if g.one(6) {
		p.Spec.Priority, p.Spec.PriorityClassName = nil, draw(g, "p10", "p100")
	}
	if g.one(8) {
		p.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
	}
	if g.one(8) {
		p.Spec.Overhead = amounts("250m", "")
	}
	if g.one(10) {
		p.Spec.HostNetwork = true
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	}
	if g.one(10) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
	g.own(p)
	if g.mounts && g.one(2) {
		g.mount(p)
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
		t.Namespaces = []string{draw(g, "default", "other")}
	}
	if g.one(6) {
		t.NamespaceSelector = &metav1.LabelSelector{}
	} else if g.one(4) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": draw(g, "default", "other")}}
	}
	return t
}
