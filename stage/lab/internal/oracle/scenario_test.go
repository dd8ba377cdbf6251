package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A scenario is a cluster and the changes in it. Kubelets renew their Leases every ten seconds.
type scenario struct {
	nodes  []nodeSpec
	pods   []podSpec
	steps  []step
	length time.Duration
}

type nodeSpec struct{ name, zone string }

type podSpec struct {
	name, node string
	tolerates  int64 // seconds; forEver, never
}

const (
	forEver = -1
	never   = -2
)

// A step is something that happens to a Node: its kubelet is stopped or started, says that the Node
// is unready or ready, or the Node is deleted or created.
type step struct {
	at   time.Duration
	do   string
	node string
}

const (
	monitorPeriod = 5000700 * time.Microsecond
	gcPeriod      = 20001300 * time.Microsecond
	quarantine    = 40 * time.Second
	leasePeriod   = 10 * time.Second
)

// leaseOffset is when the kubelet of the i-th Node renews its Lease first.
func leaseOffset(i int) time.Duration { return time.Duration(37+10*i) * time.Millisecond }

func (s scenario) zone(node string) string {
	return s.nodes[slices.IndexFunc(s.nodes, func(n nodeSpec) bool { return n.name == node })].zone
}

// failing returns the Nodes that something happens to.
func (s scenario) failing() (names []string) {
	for _, step := range s.steps {
		if !slices.Contains(names, step.node) {
			names = append(names, step.node)
		}
	}
	slices.Sort(names)
	return names
}

// newNode returns a Node that is ready.
func newNode(name, zone string) *corev1.Node {
	labels := map[string]string{}
	if zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: metav1.Now()},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{readyCondition(corev1.ConditionTrue)}},
	}
}

func readyCondition(status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: "Kubelet", LastHeartbeatTime: now, LastTransitionTime: now}
}

// newPod returns a Pod that runs.
func newPod(p podSpec) *corev1.Pod {
	var tolerations []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		switch {
		case p.tolerates == never:
			t.Key, t.Value, t.Operator = "", "nothing", corev1.TolerationOpEqual // no default is added
		case p.tolerates >= 0:
			t.TolerationSeconds = &p.tolerates
		}
		tolerations = append(tolerations, t)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: "default", UID: types.UID(p.name), CreationTimestamp: metav1.Now()},
		Spec:       corev1.PodSpec{NodeName: p.node, Tolerations: tolerations, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// named are the scenarios that have a name.
func named() map[string]scenario {
	four := func(zone string) []nodeSpec { return []nodeSpec{{"a", zone}, {"b", zone}, {"c", zone}, {"d", zone}} }
	return map[string]scenario{
		"a kubelet stops, another Node is deleted": {
			nodes: four("z"), length: 700 * time.Second,
			pods:  []podSpec{{"p-a", "a", 300}, {"q-a", "a", forEver}, {"r-a", "a", never}, {"p-b", "b", 300}},
			steps: []step{{60*time.Second + 3*time.Millisecond, "stop", "a"}, {500*time.Second + 3*time.Millisecond, "delete", "b"}},
		},
		"not ready, and ready again in time": {
			nodes: four(""), length: 300 * time.Second,
			pods:  []podSpec{{"p-a", "a", 60}, {"p-b", "b", 20}},
			steps: []step{{31 * time.Second, "unready", "a"}, {33 * time.Second, "unready", "b"}, {77 * time.Second, "ready", "a"}},
		},
		"all Nodes are lost, and come back": {
			nodes: four("z"), length: 500 * time.Second, pods: []podSpec{{"p-a", "a", 30}, {"p-b", "b", 100}},
			steps: []step{{11 * time.Second, "unready", "a"}, {32 * time.Second, "unready", "b"}, {33 * time.Second, "unready", "c"}, {34 * time.Second, "unready", "d"},
				{121 * time.Second, "ready", "c"}, {122 * time.Second, "ready", "d"}},
		},
		"unready, then unreachable": {
			nodes: four("z"), length: 500 * time.Second, pods: []podSpec{{"p-a", "a", 100}},
			steps: []step{{11 * time.Second, "unready", "a"}, {41 * time.Second, "stop", "a"}, {291 * time.Second, "start", "a"}},
		},
	}
}

// largeZone is a zone of 60 Nodes. 33 of them are not ready.
func largeZone() scenario {
	s := scenario{length: 330 * time.Second, nodes: []nodeSpec{{"other", "y"}}}
	for i := range 60 {
		s.nodes = append(s.nodes, nodeSpec{fmt.Sprintf("n%02d", i), "z"})
		if i < 33 {
			s.steps = append(s.steps, step{11 * time.Second, "unready", fmt.Sprintf("n%02d", i)})
		}
	}
	return s
}

// random returns the scenario of a seed: up to eight Nodes in up to two zones, and up to two Pods
// on each. At most three Nodes fail.
func random(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 20))
	s := scenario{length: 600 * time.Second}
	zones := []string{"", "y", "z"}[:1+r.IntN(3)]
	for i := range 1 + r.IntN(8) {
		n := nodeSpec{fmt.Sprintf("n%d", i), zones[r.IntN(len(zones))]}
		s.nodes = append(s.nodes, n)
		for j := range r.IntN(3) {
			s.pods = append(s.pods, podSpec{fmt.Sprintf("p%d-%s", j, n.name), n.name, []int64{never, forEver, 0, 10, 60, 300}[r.IntN(6)]})
		}
	}
	failing := s.nodes[:min(1+r.IntN(3), len(s.nodes))]
	for i := range 1 + r.IntN(6) {
		at := time.Duration(r.IntN(450))*time.Second + time.Duration(3+i)*time.Millisecond
		do := []string{"stop", "unready", "ready", "start", "delete", "create"}[r.IntN(6)]
		s.steps = append(s.steps, step{at, do, failing[r.IntN(len(failing))].name})
	}
	slices.SortFunc(s.steps, func(a, b step) int { return int(a.at - b.at) })
	return s
}
